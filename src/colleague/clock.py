"""The one source of time. Leases aside, nothing else looks at a watch."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Milliseconds since 1970, as everything is stored."""

    def now(self) -> int: ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class MovableClock:
    """A clock that stands still until it is moved; for rehearsals and tests."""

    def __init__(self, start: int = 1_767_225_600_000) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def move(self, *, seconds: float = 0, days: float = 0) -> None:
        self._now += int((seconds + days * 86_400) * 1000)
