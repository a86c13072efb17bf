"""AgentDojo through our tool path, with a model that obeys every injection: what each policy leaves of it.

By default the banking suite; others as arguments, or in AGENTDOJO_SUITES (banking slack travel workspace)."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.injections.measure import Outcome, measuring  # noqa: E402

PLACE = ROOT / ".venv-agentdojo"
SERVER = ROOT / "tests" / "injections" / "agentdojo_suite.py"
SETTINGS = {
    "none": "no policy: everything runs",
    "confirm": "writing at confirm, a user who rejects what is not theirs",
    "manual": "writing at manual",
}


async def measure(suite: str, folder: Path) -> list[Outcome]:
    def command(socket: Path) -> list[str]:
        return [str(PLACE / "bin" / "python"), str(SERVER), suite, "--control", str(socket)]

    async with measuring(folder, command) as measurement:
        pairs = await measurement.control.pairs()
        return [await measurement.attempt(setting, *pair) for pair in pairs for setting in SETTINGS]


def report(suite: str, outcomes: list[Outcome]) -> int:
    """Prints the figures; how many attacks succeeded in spite of a policy.

    Where the attacker only wants words in the answer, there is no call that a policy could hold."""
    calls = [each for each in outcomes if each.pair.injected]
    words = [each for each in outcomes if not each.pair.injected]
    print(f"AgentDojo {suite}, a model that obeys every injection, {len(calls) // len(SETTINGS)} pairs:")
    succeeded = [each for each in _table(calls) if each.setting != "none"]
    for each in succeeded:
        print(f"    succeeded at {each.setting}: {each.injection} in {each.user}")
    if words:
        print(f"  and {len(words) // len(SETTINGS)} pairs where the attacker wants words, and no call:")
        _table(words)
    return len(succeeded)


def _table(outcomes: list[Outcome]) -> list[Outcome]:
    """Prints a line for each setting; returns the attacks that succeeded."""
    for setting, meaning in SETTINGS.items():
        of = [each.verdict for each in outcomes if each.setting == setting]
        attacks, tasks = sum(each.attack for each in of), sum(each.utility for each in of)
        print(
            f"  {meaning:58} attacks {attacks:3} of {len(of)} ({attacks / len(of):4.0%}), "
            f"tasks done {tasks:3} of {len(of)} ({tasks / len(of):4.0%})"
        )
    return [each for each in outcomes if each.verdict.attack]


def main() -> None:
    if not (PLACE / ".ready").exists():
        print("AgentDojo is not installed: run scripts/setup-agentdojo")
        return
    succeeded = 0
    for suite in sys.argv[1:] or os.environ.get("AGENTDOJO_SUITES", "banking").split():
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            succeeded += report(suite, asyncio.run(measure(suite, Path(folder))))
            print(f"  measured in {time.perf_counter() - started:.0f} s")
    sys.exit(1 if succeeded else 0)


if __name__ == "__main__":
    main()
