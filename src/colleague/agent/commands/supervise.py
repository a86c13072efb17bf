"""Runs one command and leaves nothing of it behind. A program of its own, with the standard library alone.

Whatever the command starts is adopted by this process, also what was daemonised, and is ended when the
command ends, when whoever started this process says so, or when that one dies: its end of the control pipe
closes then.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import termios
import time
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
LOOK_SECONDS = 0.1
ASK_SECONDS = 1.0
KILL_SECONDS = 30.0
FOLDER_SECONDS = 1.0


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    order = _read_order(control)
    if order is None:
        return
    _prctl(PR_SET_CHILD_SUBREAPER)
    woken = _wake_on_signals()
    child = os.fork()
    if child == 0:
        _become(order, status)
    _let_go_of_streams()
    reason, code = _watch(child, control, woken, order)
    code = _end_all(child, code, ask=reason not in ("processes", "disk"))
    _run_afterwards(order)
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"reason": reason, "code": code}).encode() + b"\n")


def _read_order(control: int) -> dict[str, Any] | None:
    """One line of JSON; None when whoever would have sent it is gone."""
    read = bytearray()
    while not read.endswith(b"\n"):
        chunk = os.read(control, 65536)
        if not chunk:
            return None
        read += chunk
    order: dict[str, Any] = json.loads(read)
    return order


def _prctl(option: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, 1, 0, 0, 0)


def _wake_on_signals() -> int:
    """A descriptor that can be read after a child ended or we were asked to end."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    return woken


def _let_go_of_streams() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _become(order: dict[str, Any], status: int) -> None:
    """The new process turns into the command."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if order["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if order["no_new_privileges"]:
            _prctl(PR_SET_NO_NEW_PRIVS)
        _limit(order)
        os.chdir(order["folder"])
        os.execve(order["program"], _arguments(order), order["environment"])  # noqa: S606
    except (OSError, ValueError) as error:
        told = {"reason": "failed", "error": getattr(error, "strerror", None) or str(error)}
        os.write(status, json.dumps(told).encode() + b"\n")
    finally:
        os._exit(127)


def _arguments(order: dict[str, Any]) -> list[str]:
    """What nobody else may see is read by the program from a file without a name."""
    arguments: list[str] = order["arguments"]
    if not order["unseen"]:
        return arguments
    unseen = os.memfd_create("unseen")
    with open(unseen, "wb", closefd=False) as file:
        file.write(os.fsencode(order["unseen"]))
    os.lseek(unseen, 0, os.SEEK_SET)
    os.set_inheritable(unseen, True)
    return [each.replace("\0", str(unseen)) for each in arguments]


def _limit(order: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, most in order["limits"].items():
        limit = getattr(resource, name)
        hard = resource.getrlimit(limit)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (value, value))


class FolderWatch:
    """Looks now and then whether a folder is too full. A command may always make it smaller."""

    def __init__(self, folder: str, most: int) -> None:
        self._folder = folder
        self._most = max(most, folder_size(folder)) if folder else 0
        self._next = time.monotonic() + FOLDER_SECONDS

    def is_too_full(self) -> bool:
        if not self._folder or time.monotonic() < self._next:
            return False
        began = time.monotonic()
        size = folder_size(self._folder)
        took = time.monotonic() - began
        self._next = time.monotonic() + max(FOLDER_SECONDS, 20 * took)
        return size > self._most


def folder_size(folder: str) -> int:
    """Bytes on the disk, with everything below; links are not followed."""
    size, look = 0, [folder]
    while look:
        with contextlib.suppress(OSError), os.scandir(look.pop()) as entries:
            for each in entries:
                with contextlib.suppress(OSError):
                    size += each.stat(follow_symlinks=False).st_blocks * 512
                    if each.is_dir(follow_symlinks=False):
                        look.append(each.path)
    return size


def _run_afterwards(order: dict[str, Any]) -> None:
    if not order["afterwards"]:
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            order["afterwards"],
            env=order["environment"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=KILL_SECONDS,
        )


def _watch(child: int, control: int, woken: int, order: dict[str, Any]) -> tuple[str, int | None]:
    """Waits for the first reason to end, and the command's exit code when that is it."""
    folder = FolderWatch(order["watched_folder"], order["folder_bytes"])
    while True:
        ready, _, _ = select.select([control, woken], [], [], LOOK_SECONDS)
        asked = False
        if woken in ready:
            asked = any(number != signal.SIGCHLD for number in os.read(woken, 4096))
        code = _reap(child)
        if code is not None:
            return "exited", code
        if asked or (control in ready and not os.read(control, 1)):
            return "ended", None
        if len(descendants()) > order["processes"]:
            return "processes", None
        if folder.is_too_full():
            return "disk", None


def _reap(child: int) -> int | None:
    """Collects whoever has ended; the command's exit code, negative for a signal, when it is among them."""
    code = None
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(state)


def _end_all(child: int, code: int | None, *, ask: bool) -> int | None:
    """Asks everybody to end, if there is time for it, then kills until nobody is left."""
    if ask:
        _signal_all(signal.SIGTERM)
        code = _wait_for_all(child, code, ASK_SECONDS)
    deadline = time.monotonic() + KILL_SECONDS
    while descendants() and time.monotonic() < deadline:
        _signal_all(signal.SIGSTOP)
        _signal_all(signal.SIGKILL)
        code = _wait_for_all(child, code, 0.05)
    return code


def _wait_for_all(child: int, code: int | None, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while True:
        ended = _reap(child)
        code = code if ended is None else ended
        if not descendants() or time.monotonic() > deadline:
            return code
        time.sleep(0.01)


def _signal_all(number: int) -> None:
    for pid in descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants() -> set[int]:
    """All that this process has started or adopted, and what those have started."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - ten times a second
        if name.isdigit() and (parent := _parent(name)):
            children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    look = [os.getpid()]
    while look:
        for each in children.get(look.pop(), ()):
            if each not in found:
                found.add(each)
                look.append(each)
    return found


def _parent(pid: str) -> int:
    """0 for a process that is gone, or a zombie, whose children have other parents by now."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            state, parent, *_ = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return 0
    return 0 if state in b"ZX" else int(parent)


if __name__ == "__main__":
    main()
