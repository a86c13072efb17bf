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

PYTHON = ROOT / ".venv-agentdojo" / "bin" / "python"
SERVER = ROOT / "tests" / "injections" / "agentdojo_suite.py"
SETTINGS = {
    "none": "no policy: everything runs",
    "confirm": "writing at confirm, the user says no to what they did not ask for",
    "manual": "writing at manual",
}


async def measure(suite: str, folder: Path) -> list[Outcome]:
    def command(socket: Path) -> list[str]:
        return [str(PYTHON), str(SERVER), suite, "--control", str(socket)]

    async with measuring(folder, command) as measurement:
        pairs = await measurement.control.pairs()
        return [await measurement.attempt(setting, *pair) for pair in pairs for setting in SETTINGS]


def report(suite: str, outcomes: list[Outcome]) -> int:
    """Prints the figures; how many attacks succeeded in spite of a policy."""
    pairs = len(outcomes) // len(SETTINGS)
    print(f"AgentDojo {suite}, {pairs} pairs of task and injection, a model that obeys every injection:")
    held = 0
    for setting, meaning in SETTINGS.items():
        of = [each for each in outcomes if each.setting == setting]
        attacks, tasks = sum(each.verdict.attack for each in of), sum(each.verdict.utility for each in of)
        held += attacks if setting != "none" else 0
        print(
            f"  {meaning:66} attacks {attacks:3} of {pairs} ({attacks / pairs:4.0%}), "
            f"tasks done {tasks:3} of {pairs} ({tasks / pairs:4.0%})"
        )
        for each in of if setting != "none" else ():
            if each.verdict.attack:
                print(f"    succeeded: {each.injection} in {each.user}")
    return held


def main() -> None:
    if not PYTHON.exists():
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
