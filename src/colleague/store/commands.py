"""Commands that agents started, so that whoever comes after a crash finds what it left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.store.tables import commands
from colleague.store.tx import Tx

CommandStatus = Literal[
    "running", "exited", "ended", "timeout", "processes", "disk", "failed", "lost", "uncertain"
]


@dataclass(frozen=True)
class StartedCommand:
    """One row of `commands`. `started` is when its process began, as the machine counts; `mark` is in the
    environment of all that it starts."""

    id: str
    session_key: str
    run_id: str
    call_id: str
    command: str
    mark: str
    pid: int
    started: str
    machine: str
    owner_pid: int
    owner_started: str
    started_at: int
    status: CommandStatus = "running"
    code: int | None = None
    ended_at: int | None = None


def add_command(tx: Tx, started: StartedCommand) -> None:
    tx.insert(commands, **vars(started))


def end_command(tx: Tx, command_id: str, status: CommandStatus, code: int | None) -> None:
    """The first end counts."""
    where = {"id": command_id, "status": "running"}
    tx.update(commands, where, status=status, code=code, ended_at=tx.now)


def running_commands(tx: Tx) -> list[StartedCommand]:
    return tx.find(StartedCommand, commands, {"status": "running"}, order=("started_at",))


def commands_of_session(tx: Tx, session_key: str) -> list[StartedCommand]:
    """Oldest first."""
    return tx.find(StartedCommand, commands, {"session_key": session_key}, order=("started_at", "id"))
