"""Processes of their own, forked from one that has imported already what they need.

A command that is run so is the real one with its own arguments, environment, folder and streams; only the
second of importing is saved. What a fresh start costs is the matter of tests/unit/test_fast_verbs.py."""

from __future__ import annotations

import atexit
import functools
import json
import multiprocessing
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

FORKED = multiprocessing.get_context("forkserver")
"""The only user of a forkserver: there is one in a process, and the last list of what it imports counts."""
FORKED.set_forkserver_preload(
    [
        "tests.warm",
        "tests.zygote",
        "tests.chaos.drive",
        "tests.chaos.delegating",
        "tests.chaos.flood",
        "tests.chaos.working",
        "tests.integration.triggers.ticking",
    ]
)
DOOR = Path(__file__).with_name("door.py")
_STREAMS = (("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT), ("err", os.O_WRONLY | os.O_CREAT))


def run_forked(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    stdin: str = "",
    timeout: float = 240,
    program: str = "colleague",
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run would run `python -m PROGRAM ARGUMENTS`."""
    with tempfile.TemporaryDirectory() as folder:
        streams = Path(folder)
        (streams / "in").write_text(stdin, encoding="utf-8")
        files = [os.open(streams / name, flags, 0o600) for name, flags in _STREAMS]
        try:
            code = _send(["-m", program, *arguments], dict(environment), cwd, files, timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(list(arguments), timeout) from None
        finally:
            for each in files:
                os.close(each)
        out, err = ((streams / name).read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess(list(arguments), code, out, err)


def _send(
    command: Sequence[str], environment: dict[str, str], cwd: Path, streams: Sequence[int], timeout: float
) -> int:
    """Whoever goes away before the end has it ended."""
    said = json.dumps({"command": command, "cwd": str(cwd), "environment": environment}).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(timeout)
        line.connect(_door())
        socket.send_fds(line, [len(said).to_bytes(4)], streams)
        line.sendall(said)
        return int.from_bytes(line.recv(4), signed=True)


def forked_command(*command: str) -> list[str]:
    """What to start in place of `python COMMAND`."""
    return [sys.executable, "-S", "-E", str(DOOR), _door(), *command]


@functools.cache
def forked_programs() -> str:
    """A folder for PATH: `colleague`, and `python` for the office."""
    folder = Path(_door()).parent / "bin"
    folder.mkdir()
    colleague, office = shlex.join(forked_command("-m", "colleague")), shlex.join(forked_command())
    python = f'case "$1" in */office/server.py) exec {office} "$@";; esac\nexec {sys.executable} "$@"'
    for name, script in (("colleague", f'exec {colleague} "$@"'), ("python", python)):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


@functools.cache
def _door() -> str:
    """Where the zygote of this process listens. It ends with this process."""
    folder = tempfile.mkdtemp(prefix="zygote-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "door"
    FORKED.Process(target=_serve, args=(str(path),), daemon=True).start()
    while not path.exists():
        time.sleep(0.01)
    return str(path)


def _serve(path: str) -> None:
    from tests.zygote import serve  # which only the zygote needs

    serve(path)
