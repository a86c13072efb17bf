"""One command that runs under its supervisor, seen from this process."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import struct
import sys
import termios
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from colleague.agent.commands.order import CommandOrder
from colleague.agent.commands.output import CommandOutput
from colleague.errors import ColleagueError
from colleague.mcp.process import ProcessId, ProcessTree, identify
from colleague.threads import require_thread

MARK = "COLLEAGUE_COMMAND"
"""In the environment of all that a command starts: by it, what got away is found."""
_SUPERVISE = Path(__file__).with_name("supervise.py")
_CHUNK = 64 * 1024
_DRAIN_SECONDS = 1.0
_ROWS, _COLUMNS = 40, 120

EndReason = Literal["exited", "ended", "timeout", "processes", "disk", "failed", "lost"]


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended. `code` is negative for a signal, and None when it never said."""

    reason: EndReason
    code: int | None = None
    error: str = ""

    @property
    def is_success(self) -> bool:
        return self.reason == "exited" and self.code == 0


class CannotWrite(ColleagueError):
    """A command takes no input, or no more."""


class RunningCommand:
    """A supervisor and its command. `prepare` starts the first, `begin` the second."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.output = CommandOutput()
        self.end: CommandEnd | None = None
        self.on_output: Callable[[bytes], None] | None = None
        self.process: ProcessId | None = None
        self._control = self._status = self._input = -1
        self._out: asyncio.ReadTransport | None = None
        self._watching: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wanted: EndReason | None = None
        self._ended = asyncio.Event()
        self._has_terminal = False

    async def prepare(self, *, terminal: bool, takes_input: bool) -> None:
        """Starts the supervisor, which waits for its order. What it would run has not begun."""
        self._has_terminal = terminal
        require_thread()
        reads, self._control = os.pipe()
        self._status, writes = os.pipe()
        output, stdin, stdout = self._streams(terminal, takes_input)
        try:
            supervisor = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_SUPERVISE), str(reads), str(writes)),
                stdin=stdin,
                stdout=stdout,
                stderr=stdout,
                pass_fds=(reads, writes),
                env={MARK: self.mark},
                start_new_session=True,
            )
        finally:
            for each in {reads, writes, stdin, stdout} - {DEVNULL}:
                os.close(each)
        self.process = identify(supervisor.pid)
        reading = asyncio.create_task(self._read(output))
        self._watching = asyncio.create_task(self._watch(supervisor, reading))

    def _streams(self, terminal: bool, takes_input: bool) -> tuple[int, int, int]:
        """Our end of the output, then the command's input and output."""
        if terminal:
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
            self._input = os.dup(ours)
            return ours, theirs, os.dup(theirs)
        ours, theirs = os.pipe()
        if not takes_input:
            return ours, DEVNULL, theirs
        stdin, self._input = os.pipe()
        return ours, stdin, theirs

    async def begin(self, order: CommandOrder, *, timeout: float) -> None:
        """Starts the command, and ends it after so many seconds."""
        data = order.to_json().encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            await asyncio.to_thread(_write_all, self._control, data)
        self._timer = asyncio.get_running_loop().call_later(timeout, self._time_is_up)

    def _time_is_up(self) -> None:
        if self.end is None:
            self._ask_to_end("timeout")

    async def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended by then; without a time, once it has."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        return self.end is not None

    async def kill(self) -> CommandEnd:
        """Ends it with everything it started."""
        self._ask_to_end("ended")
        await self._ended.wait()
        return self._known_end

    @property
    def _known_end(self) -> CommandEnd:
        return self.end or CommandEnd("lost")

    def _ask_to_end(self, reason: EndReason) -> None:
        self._wanted = self._wanted or reason
        self._close("_control")

    async def write(self, data: bytes, *, eof: bool = False) -> None:
        """Types into it."""
        if self._input < 0:
            raise CannotWrite("This command takes no input: start it with background or pty.")
        try:
            await asyncio.wait_for(asyncio.to_thread(_write_all, self._input, data), 5)
        except (OSError, TimeoutError):
            raise CannotWrite("The command does not read its input any more.") from None
        if eof and self._has_terminal:
            await asyncio.to_thread(_write_all, self._input, b"\x04")
        elif eof:
            self._close("_input")

    async def _read(self, descriptor: int) -> None:
        reader = asyncio.StreamReader(limit=_CHUNK)
        loop = asyncio.get_running_loop()
        file = os.fdopen(descriptor, "rb", buffering=0)
        self._out, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        with contextlib.suppress(OSError):  # a terminal says so that its last program is gone
            while data := await reader.read(_CHUNK):
                self.output.add(data)
                if self.on_output is not None:
                    self.on_output(data)

    async def _watch(self, supervisor: Process, reading: asyncio.Task[None]) -> None:
        """Learns how it ended. Whatever escaped its supervisor is found by its mark, and ended as well."""
        await supervisor.wait()
        told = await asyncio.to_thread(_read_status, self._status)
        if told.get("reason") in (None, "ended"):
            await ProcessTree(self.process, self.mark, MARK).end()
        await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        reading.cancel()
        if self._out is not None:
            self._out.close()
        if self._timer is not None:
            self._timer.cancel()
        self.end = self._end_of(told)
        for each in ("_control", "_status", "_input"):
            self._close(each)
        self._ended.set()

    def _end_of(self, told: dict[str, Any]) -> CommandEnd:
        reason: EndReason = told.get("reason", self._wanted or "lost")
        if reason == "ended":
            reason = self._wanted or "ended"
        return CommandEnd(reason, told.get("code"), str(told.get("error", "")))

    def _close(self, name: str) -> None:
        descriptor = getattr(self, name)
        if descriptor >= 0:
            setattr(self, name, -1)
            os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read_status(descriptor: int) -> dict[str, Any]:
    """The first line: why a program could not be started is said before how that ended."""
    line = os.read(descriptor, 65536).partition(b"\n")[0]
    document: dict[str, Any] = json.loads(line) if line else {}
    return document
