"""What happens in a session, as events: the same in this process and from a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from colleague.run_event import Kind, RunEvent

STORED = ("message", "session_status")
"""Kinds whose data has the run as a field of its own."""


@dataclass(frozen=True)
class SessionEvent:
    """`message` is an item that is stored now, with its position; `session_status` how the session stands;
    every other kind is an event of one of its runs (`run_event.Kind`). `data` is JSON."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    run_id: str | None = None
    position: int | None = None
    """Only of a `message`: where to go on after a cut."""

    def as_run_event(self) -> RunEvent:
        """Of a kind that is not stored."""
        return RunEvent(cast("Kind", self.kind), self.run_id or "", self.data)
