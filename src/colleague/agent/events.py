"""Passing what happens during a run to whoever watches in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from colleague.run_event import Kind, RunEvent

Watcher = Callable[[RunEvent], None]


class EventBus:
    """Passes events to the watchers of this process. A watcher that fails disturbs nobody."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Registers a watcher; returns what unregisters it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def tell(self, kind: Kind, run_id: str, **data: Any) -> None:
        event = RunEvent(kind, run_id, data)
        for watcher in list(self._watchers):
            try:
                watcher(event)
            except Exception:  # noqa: BLE001 - a page that went away must not end the run
                self._watchers.remove(watcher)
