"""A server as a process of our own, spoken to over stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from colleague.mcp.launch import Launch
from colleague.mcp.log import ServerLog
from colleague.mcp.pid_file import PidFile
from colleague.mcp.process import MARK, ProcessId, ProcessTree, identify
from colleague.threads import require_thread

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

GRACE_SECONDS = 1.0
_DRAIN_SECONDS = 0.5
_CHUNK = 64 * 1024
_LONGEST_MESSAGE = 64 * 1024 * 1024


class _Watched(SubprocessStreamProtocol):
    """Knows at once when the process has ended, also while a child of it holds its pipes open."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(limit=_CHUNK, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class StdioServer:
    """One process. `connected` starts it and, at the end, ends it with everything it started."""

    def __init__(self, launch: Launch, log: ServerLog, records: PidFile, on_lost: Callable[[], None]) -> None:
        self._launch, self._log, self._records, self._on_lost = launch, log, records, on_lost
        self._mark = os.urandom(16).hex()
        self._process: Process | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._id: ProcessId | None = None
        self._exited = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        """Those that read stdout, write stdin and read stderr."""
        self._ending = False
        self.hung_up = False
        """It ended, or closed its stdout, by itself."""
        self.garbage = ""
        """The first line on stdout that was not a message."""

    @property
    def pid(self) -> int | None:
        return self._id.pid if self._id and not self._exited.is_set() else None

    @property
    def was_started(self) -> bool:
        return self._process is not None

    async def exit_text(self, seconds: float = 0.0) -> str:
        """How the process ended, once it has; waits that long for it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        code = self._process.returncode if self._process else None
        if code is None:
            return ""
        return f"exited with code {code}" if code >= 0 else f"was ended by {_signal_name(-code)}"

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[TransportStreams]:
        into, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writes, out = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            stdin, stdout, stderr = _pipes(await self._spawn())
            self._tasks = [
                asyncio.create_task(self._read(stdout, into)),
                asyncio.create_task(self._write(stdin, out, into)),
                asyncio.create_task(self._read_stderr(stderr)),
            ]
            yield reads, writes
        finally:
            with anyio.CancelScope(shield=True), into, out:
                reads.close()
                writes.close()
                await self._end()

    async def _spawn(self) -> Process:
        require_thread()
        self._log.forget_tail()
        self._log.note(f"starting {self._launch.where}")
        self._records.note(self._launch.name, self._mark)
        transport, protocol = await asyncio.get_running_loop().subprocess_exec(
            _Watched,
            self._launch.command,
            *self._launch.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self._launch.env, MARK: self._mark},
            cwd=self._launch.cwd,
            start_new_session=True,
        )
        self._exited = protocol.exited
        self._transport = transport
        self._process = Process(transport, protocol, asyncio.get_running_loop())
        self._id = identify(self._process.pid)
        self._records.note(self._launch.name, self._mark, self._id)
        return self._process

    async def _read(self, stdout: StreamReader, into: MemoryObjectSendStream[Any]) -> None:
        lines = asyncio.create_task(self._read_lines(stdout, into))
        exited = asyncio.create_task(self._exited.wait())
        try:
            await asyncio.wait({lines, exited}, return_when=asyncio.FIRST_COMPLETED)
            self.hung_up = not self._ending
            self._on_lost()
            await asyncio.wait({lines}, timeout=_DRAIN_SECONDS)
        finally:
            into.close()
            exited.cancel()
            lines.cancel()
            await asyncio.gather(lines, exited, return_exceptions=True)

    async def _read_lines(self, stdout: StreamReader, into: MemoryObjectSendStream[Any]) -> None:
        rest = bytearray()
        while chunk := await stdout.read(_CHUNK):
            rest += chunk
            *lines, rest = rest.split(b"\n") if b"\n" in chunk else (rest,)
            for line in lines:
                await self._deliver(bytes(line), into)
            if len(rest) > _LONGEST_MESSAGE:
                self._log.note("ended: a message on stdout is too long")
                return

    async def _deliver(self, line: bytes, into: MemoryObjectSendStream[Any]) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            text = self._launch.redact(line.decode(errors="replace").strip())
            self.garbage = self.garbage or text[:200]
            self._log.aside(f"(stdout) {text[:2000]}")
            return
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await into.send(SessionMessage(message))

    async def _write(
        self, stdin: StreamWriter, out: MemoryObjectReceiveStream[Any], into: MemoryObjectSendStream[Any]
    ) -> None:
        try:
            async for item in out:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(f"{text}\n".encode())
                await stdin.drain()
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing more can be sent
            self._log.note(f"nothing more can be sent to it: {error}")
            into.close()

    async def _read_stderr(self, stderr: StreamReader) -> None:
        """Goes on whatever becomes of the log: a server whose stderr nobody reads stands still."""
        while chunk := await stderr.read(_CHUNK):
            with contextlib.suppress(Exception):
                self._log.feed(chunk)
        with contextlib.suppress(Exception):
            self._log.flush()

    async def _end(self) -> None:
        """Closes stdin, which asks the server to end; then ends what is left of its family."""
        self._ending = True
        if self._process is None:
            await self._end_strays()
            self._records.forget(self._mark)
            return
        if self._tasks:
            await asyncio.wait({self._tasks[1]}, timeout=_DRAIN_SECONDS)
        if self._process.stdin:
            self._process.stdin.close()
        await self._end_family(self._process)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._exited.wait()
                await asyncio.gather(*self._tasks[2:], return_exceptions=True)
        await self._close_pipes()
        self._log.note(await self.exit_text() or "did not end")
        self._records.forget(self._mark)

    async def _end_strays(self) -> None:
        """A start can fail after its process has begun, as when no thread is left to wait for it."""
        family = ProcessTree(None, self._mark)
        with contextlib.suppress(OSError, RuntimeError):
            begun = await asyncio.to_thread(family.members)
            if not begun:
                return
            await family.end()
            for each in begun:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(each.pid, os.WNOHANG)

    async def _end_family(self, process: Process) -> None:
        """Where nobody can be looked for, as without descriptors, its group is killed at least."""
        try:
            await ProcessTree(self._id, self._mark).end(grace=GRACE_SECONDS)
        except (OSError, RuntimeError) as error:
            self._log.note(f"its processes cannot be looked for, so its group is killed: {error}")
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)

    async def _close_pipes(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._log.flush()
        if self._transport:
            self._transport.close()
        await asyncio.sleep(0)


def _pipes(process: Process) -> tuple[StreamWriter, StreamReader, StreamReader]:
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - all three were asked for
    return process.stdin, process.stdout, process.stderr


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def find_command(launch: Launch) -> str | None:
    """The program the command names, as the server's own PATH finds it; None when there is none."""
    return shutil.which(launch.command, path=launch.env.get("PATH"))
