"""Processes of their own, forked from one that has imported already what they need.

A command that is run so is the real one with its own arguments, environment, folder and streams; only the
second of importing is saved. What a fresh start costs is the matter of tests/unit/test_fast_verbs.py."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(
    ["tests.forked", "tests.warm", "tests.chaos.drive", "tests.chaos.flood", "tests.chaos.working"]
)


@dataclass(frozen=True)
class Errand:
    """What the new process is to be."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    cwd: str
    streams: str

    def do(self) -> None:
        for number, (name, flags) in enumerate(_STREAMS):
            os.dup2(os.open(f"{self.streams}/{name}", flags), number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it ends with them
            for number in range(3)
        )
        os.chdir(self.cwd)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv = [self.program, *self.arguments]
        runpy.run_module(self.program, run_name="__main__", alter_sys=True)


_STREAMS = (("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT), ("err", os.O_WRONLY | os.O_CREAT))


def run_forked(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    stdin: str = "",
    timeout: float = 90,
    program: str = "colleague",
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run would run `python -m PROGRAM ARGUMENTS`."""
    with tempfile.TemporaryDirectory() as folder:
        streams = Path(folder)
        (streams / "in").write_text(stdin, encoding="utf-8")
        process = FORKED.Process(target=Errand(program, arguments, dict(environment), str(cwd), folder).do)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        out, err = (_text(streams / name) for name in ("out", "err"))
    return subprocess.CompletedProcess(list(arguments), process.exitcode, out, err)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
