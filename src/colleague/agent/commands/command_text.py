"""What a model reads about a command."""

from __future__ import annotations

import signal

from colleague.agent.commands.running import CommandEnd
from colleague.store.commands import StartedCommand

MOST_SHOWN = 30_000
"""Bytes of output in one answer."""
_REASONS = {
    "ended": "was ended",
    "timeout": "took too long and was ended; what it did until then stays done",
    "processes": "started too many processes and was killed",
    "disk": "filled the folder of the sandbox to its limit and was killed: remove files first",
    "failed": "could not be started",
    "lost": "was lost: how it ended is not known",
    "uncertain": "was ended when the runtime stopped: what it did until then is not known",
}


def end_text(end: CommandEnd) -> str:
    return _end_text(end.reason, end.code, end.error)


def record_text(command: StartedCommand) -> str:
    """Of a command that this process does not know."""
    if command.status == "running":
        return "runs in another process of this home"
    return _end_text(command.status, command.code, "")


def _end_text(reason: str, code: int | None, error: str) -> str:
    if reason == "exited":
        return _exit(code)
    return f"{_REASONS[reason]}: {error}" if error else _REASONS[reason]


def _exit(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
