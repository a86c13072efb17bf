"""How long a quick command takes, beside a bare interpreter in the same run; also one that asks a gateway.

Beside the time on the wall stands the time of a processor, which says more on a machine that is busy."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "radiant-sales-expert")
COLLEAGUE = ["-m", "colleague"]
ROUNDS = 15
ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""As users have it: without its compiled files, every module of ours would be compiled at each start."""
UNTIL_THE_LINE = """
import sys, time
from colleague.cli.main import main

class Seen:
    told = False

    def __getattr__(self, name):
        return getattr(sys.__stderr__, name)

    def write(self, text):
        if not self.told and text.startswith("run "):
            self.told = True
            print(time.process_time(), flush=True)
        return sys.__stderr__.write(text)

sys.stderr = Seen()
sys.argv = ["colleague", *sys.argv[1:]]
main()
"""
"""Prints the seconds of a processor that a command took until its first line."""
GREETING = {"when": "/./", "text": "Good morning."}


class Took(NamedTuple):
    wall: float
    cpu: float


def seconds(arguments: list[str], home: str) -> Took:
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRON | {"OPENCLAW_STATE_DIR": home},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(time.perf_counter() - started, cpu)


def first_line_seconds(arguments: list[str], home: str) -> Took:
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
    return Took(found, first_line_cpu(arguments, environ))


def first_line_cpu(arguments: list[str], environ: dict[str, str]) -> float:
    command = [sys.executable, "-c", UNTIL_THE_LINE, *arguments[len(COLLEAGUE) :]]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    return float(done.stdout.splitlines()[0])


def median(rounds: Iterable[Took]) -> Took:
    found = list(rounds)
    return Took(statistics.median(each.wall for each in found), statistics.median(each.cpu for each in found))


def command(arguments: list[str], home: str) -> Took:
    return median(seconds(arguments, home) for _ in range(ROUNDS))


def first_line(arguments: list[str], home: str) -> Took:
    return median(first_line_seconds(arguments, home) for _ in range(ROUNDS))


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


def approve_seconds(home: str) -> Took:
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
        medians = {name: command(arguments, home) for name, arguments in cases.items()}
        with gateway(home):
            asking = agent(home, "answer", GREETING)
            medians["colleague agent, asking a gateway"] = command(asking, home)
            medians["  its first line"] = first_line(asking, home)
            rounds = (approve_seconds(home) for _ in range(ROUNDS))
            medians["colleague approve, asking a gateway"] = median(rounds)
        medians["colleague agent alone, its first line"] = first_line(asking, home)
    baseline = medians["python -c pass"].wall
    print(f"{'command':40} {'median':>9} {'processor':>10} {'x bare python':>14}")
    for name, took in medians.items():
        print(f"{name:40} {took.wall * 1000:6.0f} ms {took.cpu * 1000:7.0f} ms {took.wall / baseline:13.1f}x")


if __name__ == "__main__":
    main()
