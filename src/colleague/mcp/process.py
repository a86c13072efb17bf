"""Processes that cannot be mistaken for others, and ending one with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "COLLEAGUE_MCP_SERVER"
ASK_SECONDS = 2.0
KILL_SECONDS = 2.0
EXEC_SECONDS = 0.5
_POLL = 0.02
_PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessId:
    """A pid with the time its process started: a pid alone is soon used again."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return identify(self.pid) == self


@dataclass(frozen=True)
class _Stat:
    """The part of /proc/<pid>/stat that we read."""

    process: ProcessId
    group: int
    session: int
    zombie: bool

    def started_before(self, other: ProcessId) -> bool:
        """Both are counted in ticks since the machine was started."""
        return other.started.isdecimal() and int(self.process.started) < int(other.started)


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now; None when there is none, or only its zombie."""
    if _PROC.joinpath("self").exists():
        found = _stat(pid)
        return found.process if found and not found.zombie else None
    asked = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = asked.stdout.strip().partition(" ")
    return ProcessId(pid, started.strip()) if state and not state.startswith("Z") else None


def _stat(pid: int) -> _Stat | None:
    """None when there is no such process. One that cannot be looked at now is not gone: that raises."""
    try:
        text = _PROC.joinpath(str(pid), "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = text.rpartition(")")[2].split()
    process = ProcessId(pid, fields[19])
    return _Stat(process, int(fields[2]), int(fields[3]), zombie=fields[0] in "ZX")


def environment_of(process: Path) -> bytes:
    """The variables of a process, from its folder in /proc. In the moment in which its program starts it has
    none there, and no arguments either. Raises FileNotFoundError for a thread of the kernel."""
    deadline = time.monotonic() + EXEC_SECONDS
    while not (found := process.joinpath("environ").read_bytes()):
        process.joinpath("exe").readlink()
        if process.joinpath("cmdline").read_bytes() or time.monotonic() > deadline:
            return process.joinpath("environ").read_bytes()
        time.sleep(0.001)
    return found


def machine() -> str:
    """What makes pids comparable: this boot, and this container."""
    parts = []
    with contextlib.suppress(OSError):
        parts.append(_PROC.joinpath("sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(_PROC.joinpath("self/ns/pid").readlink()))
    return " ".join(parts)


class ProcessTree:
    """A process of ours and all it started, also what left its group or outlived it.

    `mark` is in the environment of each, as the variable `name`; it tells them apart from a later process
    with the same pid or group."""

    def __init__(self, leader: ProcessId | None, mark: str, name: str = MARK) -> None:
        self._leader, self._mark = leader, f"{name}={mark}".encode()
        self._seen = {leader} if leader else set()

    def members(self) -> set[ProcessId]:
        """Those alive now."""
        self._seen |= set(self._found())
        self._seen = {each for each in self._seen if each.alive}
        return set(self._seen)

    def _found(self) -> Iterator[ProcessId]:
        """Whatever is older than the leader is not of its family."""
        ours = self._leader.pid if self._leader and self._leader.alive else None
        for folder in _PROC.glob("[0-9]*"):
            found = _stat(int(folder.name))
            if found is None or found.zombie or (self._leader and found.started_before(self._leader)):
                continue
            if (ours is not None and ours in (found.group, found.session)) or self._is_marked(folder):
                yield found.process

    def _is_marked(self, folder: Path) -> bool:
        try:
            return self._mark in environment_of(folder).split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False

    async def end(self, *, grace: float = 0.0) -> None:
        """Gives the leader `grace` seconds to end by itself, then asks whoever is left, then kills."""
        await asyncio.to_thread(self.members)
        await _gone({self._leader} if self._leader else set(), grace)
        if await self._signal(signal.SIGTERM):
            await _gone(self._seen, ASK_SECONDS)
        deadline = time.monotonic() + KILL_SECONDS
        while await self._signal(signal.SIGKILL) and time.monotonic() < deadline:
            await _gone(self._seen, KILL_SECONDS)

    async def _signal(self, number: signal.Signals) -> bool:
        """Sends it to every member; False when there is none."""
        members = await asyncio.to_thread(self.members)
        for each in members:
            send = os.killpg if each == self._leader else os.kill
            with contextlib.suppress(ProcessLookupError, PermissionError):
                send(each.pid, number)
        return bool(members)


async def _gone(processes: set[ProcessId], seconds: float) -> None:
    """Waits until none of them is alive, but not longer than that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(each.alive for each in processes):
        await asyncio.sleep(_POLL)
