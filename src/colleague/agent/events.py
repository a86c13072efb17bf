"""What happens during a run, as typed events for whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "agent_start",
    "message_start",
    "message_update",
    "message_end",
    "message_retry",
    "message_slow",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "approval_requested",
    "run_status",
    "agent_end",
]


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run. `data` is JSON."""

    kind: Kind
    run_id: str
    data: dict[str, Any] = field(default_factory=dict)


Watcher = Callable[[Event], None]


class Bus:
    """Passes events to the watchers of this process. A watcher that fails disturbs nobody."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Registers a watcher; returns what unregisters it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def tell(self, kind: Kind, run_id: str, **data: Any) -> None:
        event = Event(kind, run_id, data)
        for watcher in list(self._watchers):
            try:
                watcher(event)
            except Exception:  # noqa: BLE001 - a page that went away must not end the run
                self._watchers.remove(watcher)
