"""Starting this process again: in order, so that everything goes on where it was."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from colleague.env_file import environment_before

NO_GATEWAY = "no gateway runs in this process: a person starts one with colleague serve"
SECONDS_BEFORE = 1.0
"""Until it begins to stop: whoever asked for it is answered first."""
_ONCE = ("--new-database",)
"""Options of a start that a later one must not repeat."""


@dataclass(frozen=True)
class ProcessRestart:
    """`stop` ends the process gently and has it start again; None where nobody would start it."""

    stop: Callable[[], None] | None = None

    @property
    def problem(self) -> str:
        """Why it cannot be; empty when it can."""
        return "" if self.stop else NO_GATEWAY

    def ask(self) -> None:
        if self.stop is not None:
            asyncio.get_running_loop().call_later(SECONDS_BEFORE, self.stop)


def execute_again(arguments: Sequence[str] | None = None) -> None:
    """Turns this process into a new one of the same command. Its id stays, so whoever watches over it, such
    as systemd, sees no end."""
    given = sys.argv[1:] if arguments is None else arguments
    kept = [each for each in given if each not in _ONCE]
    sys.stdout.flush()
    sys.stderr.flush()
    command = [sys.executable, "-m", "colleague", *kept]
    os.execve(sys.executable, command, environment_before())  # noqa: S606
