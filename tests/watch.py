"""A machine's two clocks in the hands of a test: time passes for both, and one of them can be moved."""

from __future__ import annotations

import threading

from colleague.clock import CheckedClock

START = 1_767_225_600_000  # 2026-01-01


class Watch:
    """`passes` is time that really goes by; `moves` is somebody who sets the clock."""

    def __init__(self, start: int = START) -> None:
        self._boot, self._wall = 1_000_000, start
        self._read = threading.Condition()
        self._reads = 0

    def passes(self, *, seconds: float = 0, days: float = 0) -> None:
        by = int((seconds + days * 86_400) * 1000)
        self._boot, self._wall = self._boot + by, self._wall + by

    def moves(self, *, seconds: float = 0, days: float = 0) -> None:
        self._wall += int((seconds + days * 86_400) * 1000)

    def wall(self) -> int:
        with self._read:
            self._reads += 1
            self._read.notify_all()
            return self._wall

    def boot(self) -> int:
        return self._boot

    def clock(self, boot_id: str = "this boot") -> CheckedClock:
        return CheckedClock(self.wall, self.boot, boot_id)

    def is_read(self, times: int = 30) -> None:
        """Waits until the clock was looked at so often."""
        with self._read:
            wanted = self._reads + times
            assert self._read.wait_for(lambda: self._reads >= wanted, timeout=240), "nobody looks at it"
