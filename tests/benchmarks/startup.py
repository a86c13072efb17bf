"""How long a quick command takes, beside a bare interpreter in the same run; also one that asks a gateway."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "radiant-sales-expert")
COLLEAGUE = ["-m", "colleague"]
ROUNDS = 15
ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""As users have it: without its compiled files, every module of ours would be compiled at each start."""
GREETING = {"when": "/./", "text": "Good morning."}


def seconds(arguments: list[str], home: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRON | {"OPENCLAW_STATE_DIR": home},
    )
    return time.perf_counter() - started


def first_line_seconds(arguments: list[str], home: str) -> float:
    """Until the line with the run's id and its model."""
    environ = ENVIRON | {"OPENCLAW_STATE_DIR": home}
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = time.perf_counter() - started
        process.stderr.read()
    assert line.startswith(b"run "), line
    return found


def median(arguments: list[str], home: str) -> float:
    return statistics.median(seconds(arguments, home) for _ in range(ROUNDS))


def first_line(arguments: list[str], home: str) -> float:
    return statistics.median(first_line_seconds(arguments, home) for _ in range(ROUNDS))


@contextmanager
def gateway(home: str) -> Iterator[None]:
    """`colleague serve`, after its first turn: the first imports what models need."""
    command = [sys.executable, *COLLEAGUE, "serve", "--port", "0"]
    environ = ENVIRON | {"OPENCLAW_STATE_DIR": home}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds(agent(home, "answer", GREETING), home)
        try:
            yield
        finally:
            process.terminate()


def agent(home: str, name: str, *replies: dict[str, Any]) -> list[str]:
    """One turn of an agent whose model answers at once, however long the conversation is already."""
    (Path(home) / f"{name}.yaml").write_text(json.dumps({"replies": replies}))
    return [*COLLEAGUE, "agent", "hi", "--model", f"script/{name}.yaml"]


def approve_seconds(home: str) -> float:
    """From the command to the end of the run that it continues."""
    write = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": "Be brief."}}
    asking = agent(home, "ask", {"when": "/^hi$/", "calls": [write]}, {"when": "/./", "text": "Written."})
    environ = ENVIRON | {"OPENCLAW_STATE_DIR": home}
    asked = subprocess.run([sys.executable, *asking, "--json"], capture_output=True, env=environ, check=False)
    [approval] = json.loads(asked.stdout)["approvals"]
    return seconds([*COLLEAGUE, "approve", approval], home)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        seconds([*COLLEAGUE, "expert", "install", EXAMPLE], home)
        cases = {
            "python -c pass": ["-c", "pass"],
            "colleague --version": [*COLLEAGUE, "--version"],
            "colleague expert list": [*COLLEAGUE, "expert", "list"],
            "colleague expert validate --offline": [*COLLEAGUE, "expert", "validate", "--offline", EXAMPLE],
        }
        medians = {name: median(arguments, home) for name, arguments in cases.items()}
        with gateway(home):
            asking = agent(home, "answer", GREETING)
            medians["colleague agent, asking a gateway"] = median(asking, home)
            medians["  its first line"] = first_line(asking, home)
            rounds = [approve_seconds(home) for _ in range(ROUNDS)]
            medians["colleague approve, asking a gateway"] = statistics.median(rounds)
        medians["colleague agent alone, its first line"] = first_line(asking, home)
    baseline = medians["python -c pass"]
    print(f"{'command':40} {'median':>9} {'x bare python':>14}")
    for name, found in medians.items():
        print(f"{name:40} {found * 1000:6.0f} ms {found / baseline:13.1f}x")


if __name__ == "__main__":
    main()
