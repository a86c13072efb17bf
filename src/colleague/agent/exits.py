"""How a stretch of work ends. Control leaves the loop by one of these."""

from __future__ import annotations

from typing import Any


class LoopExit(Exception):
    """The loop stops here."""


class Completed(LoopExit):
    """The agent is done: what it says, and the outputs it owes, where it owes some."""

    def __init__(self, text: str, outputs: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.outputs = outputs


class Waiting(LoopExit):
    """A person is asked; the run lets go of everything but its lane."""


class Failed(LoopExit):
    """The attempt has failed. `retry` says whether another one may help."""

    def __init__(self, error: str, *, retry: bool = True) -> None:
        super().__init__(error)
        self.error = error
        self.retry = retry
