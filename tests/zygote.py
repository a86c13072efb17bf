"""The process that programs are forked from: it has imported what they need, and waits at a door.

Whoever comes (see tests/forked.py and tests/door.py) brings a command, a folder, an environment and three
streams, hears how it ended, and ends it by going away."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import NoReturn

import mcp.server.mcpserver

import tests.warm

__all__ = ["mcp", "serve", "tests"]


def serve(path: str) -> None:
    """For ever. The socket appears at `path` when it can be connected to."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{path}.new")
        door.listen(100)
        os.rename(f"{path}.new", path)  # noqa: PTH104 - beside nothing but itself
        gc.freeze()  # what a child's collector never walks over is never copied for it
        Nursery(door).keep()


class Nursery:
    """The children, and the lines on which their ends are waited for."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._lines: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(door, selectors.EVENT_READ, self._take_in)
        woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(woken, selectors.EVENT_READ, lambda: os.read(woken, 1000))

    def keep(self) -> None:
        while True:
            for key, _ in self._selector.select():
                key.data()
            for pid, code in _ended():
                self._tell(self._lines.pop(pid), code)

    def _take_in(self) -> None:
        line, _ = self._door.accept()
        pid = _fork(line)
        self._lines[pid] = line
        self._selector.register(line, selectors.EVENT_READ, lambda: self._heard(line, pid))

    def _heard(self, line: socket.socket, pid: int) -> None:
        """A signal that was sent to whoever waits; or that it is gone."""
        said = line.recv(1)
        if not said:
            self._selector.unregister(line)
        os.kill(pid, said[0] if said else signal.SIGKILL)

    def _tell(self, line: socket.socket, code: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(line)
        with contextlib.suppress(OSError), line:
            line.sendall(code.to_bytes(4, signed=True))


def _ended() -> Iterator[tuple[int, int]]:
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found[0], os.waitstatus_to_exitcode(found[1])


def _fork(line: socket.socket) -> int:
    head, streams, _, _ = socket.recv_fds(line, 4, 3)
    said, size = b"", int.from_bytes(head)
    while len(said) < size and (more := line.recv(size - len(said))):
        said += more
    child = os.fork()
    if child == 0:
        _become(streams, said)
    for each in streams:
        os.close(each)
    return child


def _become(streams: Sequence[int], said: bytes) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 1000)
        code = _run(**json.loads(said))
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # as at the end of every program
        for written in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                written.flush()
        os._exit(code)


def _run(command: list[str], cwd: str, environment: dict[str, str]) -> int:
    """Does what `python COMMAND` does; returns the exit code."""
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115 - it ends with them
        for number, mode, buffering in ((0, "r", -1), (1, "w", -1), (2, "w", 1))
    )
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    try:
        if command[0] == "-m":
            sys.argv = command[1:]
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = command
            sys.path.insert(0, os.path.dirname(command[0]))  # noqa: PTH120 - as Python does
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else _said(end.code)
    except BaseException:  # noqa: BLE001 - as Python does
        traceback.print_exc()
        return 1
    return 0


def _said(code: object) -> int:
    if code is None:
        return 0
    print(code, file=sys.stderr)
    return 1
