"""The commands of this process: started with a record, found again by the session that started them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import cast

from colleague.agent.commands.order import CommandOrder
from colleague.agent.commands.running import MARK, CommandEnd, RunningCommand
from colleague.errors import ColleagueError
from colleague.mcp.process import ProcessId, ProcessTree, identify, machine
from colleague.redaction import Redactor
from colleague.store.commands import (
    CommandStatus,
    StartedCommand,
    add_command,
    commands_of_session,
    end_command,
    running_commands,
)
from colleague.store.ids import new_id, short
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)

MOST_RUNNING = 16
MOST_KEPT = 32
"""Of one session: commands that run at once, and ended ones whose output is kept."""


class TooManyCommands(ColleagueError):
    """A session has too many commands at once."""


@dataclass(frozen=True)
class CommandRequest:
    """What is to be run, for whom."""

    session_key: str
    run_id: str
    call_id: str
    command: str
    """As a person reads it."""
    order: CommandOrder
    timeout: float
    takes_input: bool = False
    secrets: Sequence[str] = field(default=(), repr=False)
    """What must not be in the output that is shown."""


@dataclass
class SessionCommand:
    """A command of a session, while this process knows it. `read` is how much of its output was polled."""

    id: str
    request: CommandRequest
    running: RunningCommand
    read: int = 0
    recorded: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return short(self.id)


class RunningCommands:
    """Starts commands and keeps them by session. When it closes, all of them are ended."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_session: dict[str, list[SessionCommand]] = {}
        self._owner = identify(os.getpid()) or ProcessId(os.getpid(), "")

    @property
    def owner(self) -> str:
        """This process, for what is told apart by who started it."""
        return owner_text(self._owner)

    async def __aenter__(self) -> RunningCommands:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        known = [each for commands in self._by_session.values() for each in commands]
        await asyncio.gather(*(each.running.kill() for each in known if each.running.end is None))
        await asyncio.gather(*(each.recorded for each in known if each.recorded))

    async def start(self, request: CommandRequest) -> SessionCommand:
        """Starts it. The record is committed before the command begins."""
        self._make_room(request.session_key)
        command = SessionCommand(new_id(), request, RunningCommand(os.urandom(16).hex()))
        running = command.running
        running.output.redact = Redactor(request.secrets)
        order = request.order
        await running.prepare(terminal=order.terminal, takes_input=request.takes_input)
        try:
            await self._database.write(lambda tx: add_command(tx, self._record(tx, command)))
        except BaseException:
            await running.kill()
            raise
        self._by_session.setdefault(request.session_key, []).append(command)
        command.recorded = asyncio.create_task(self._record_end(command))
        environment = {**order.environment, MARK: running.mark}
        marked = CommandOrder(**{**vars(order), "environment": environment})
        await running.begin(marked, timeout=request.timeout)
        return command

    def _make_room(self, session_key: str) -> None:
        known = self._by_session.get(session_key, [])
        if sum(each.running.end is None for each in known) >= MOST_RUNNING:
            raise TooManyCommands(
                f"{MOST_RUNNING} commands of this session run already. Wait for one, or end one with process."
            )
        ended = [each for each in known if each.running.end is not None]
        for each in ended[: max(0, len(ended) - MOST_KEPT)]:
            known.remove(each)

    def _record(self, tx: Tx, command: SessionCommand) -> StartedCommand:
        request, process = command.request, command.running.process
        return StartedCommand(
            id=command.id,
            session_key=request.session_key,
            run_id=request.run_id,
            call_id=request.call_id,
            command=request.command,
            mark=command.running.mark,
            pid=process.pid if process else 0,
            started=process.started if process else "",
            machine=machine(),
            owner_pid=self._owner.pid,
            owner_started=self._owner.started,
            started_at=tx.now,
        )

    async def _record_end(self, command: SessionCommand) -> None:
        await command.running.wait()
        end = command.running.end or CommandEnd("lost")
        status = cast("CommandStatus", end.reason)
        try:
            await self._database.write(lambda tx: end_command(tx, command.id, status, end.code))
        except ColleagueError as error:
            log.warning("the end of a command could not be recorded: %s", error.message)

    def of_session(self, session_key: str) -> list[SessionCommand]:
        """Oldest first."""
        return list(self._by_session.get(session_key, []))

    def find(self, session_key: str, name: str) -> SessionCommand | None:
        """By its id, or the short ending of it."""
        known = self._by_session.get(session_key, [])
        return next((each for each in known if name and each.id.endswith(name)), None)

    async def forget(self, command: SessionCommand) -> None:
        """Of a command that has ended. Its end is recorded before nobody knows it any more."""
        if command.recorded is not None:
            await command.recorded
        self._by_session[command.request.session_key].remove(command)

    async def recorded(self, session_key: str) -> list[StartedCommand]:
        """Those of other processes, and from before a restart."""
        rows = await self._database.read(lambda tx: commands_of_session(tx, session_key))
        return [each for each in rows if ProcessId(each.owner_pid, each.owner_started) != self._owner]


def owner_text(process: ProcessId) -> str:
    return json.dumps([process.pid, process.started, machine()])


def is_left(owner: str) -> bool:
    """Whether the process that `owner_text` names has ended. Those of other machines are not known."""
    try:
        pid, started, where = json.loads(owner)
    except ValueError:
        return False
    return bool(where == machine()) and not ProcessId(pid, started).alive


async def end_left_commands(database: Database, *, alone: bool) -> list[str]:
    """Ends what dead processes left running, and says of each that its effect is uncertain.

    `alone`: no other process works on this database, so all that is recorded as running was left."""
    left = await database.read(running_commands)
    ended = [each for each in left if await _was_left(each, alone=alone)]
    for each in ended:
        if each.machine == machine():
            process = ProcessId(each.pid, each.started) if each.pid else None
            await ProcessTree(process, each.mark, MARK).end()
        await database.write(partial(end_command, command_id=each.id, status="uncertain", code=None))
    return [each.command for each in ended]


async def _was_left(command: StartedCommand, *, alone: bool) -> bool:
    if command.machine != machine():
        return alone
    return not await asyncio.to_thread(lambda: ProcessId(command.owner_pid, command.owner_started).alive)
