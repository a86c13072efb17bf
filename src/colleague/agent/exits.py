"""Exceptions that leave the loop."""

from __future__ import annotations

from typing import Any


class LoopExit(Exception):
    """Base of all exits of the loop."""


class Completed(LoopExit):
    """The agent is done. `text` is its last answer, `outputs` are those that its process declares."""

    def __init__(self, text: str, outputs: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.outputs = outputs


class Waiting(LoopExit):
    """A person is asked; the run holds nothing but its lane."""


class Failed(LoopExit):
    """The attempt has failed. `retry` says whether another one may help; `kind` is for programs, such as
    context_overflow or compaction_failure."""

    def __init__(self, error: str, *, retry: bool = True, kind: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.retry = retry
        self.kind = kind
