"""Whether work moves, as a worker sees it; asked for by the gateway's readiness check."""

from __future__ import annotations

import time

LATE_SECONDS = 20.0
"""For how long a sweep may fail, and a run that may start may stand there, before that is trouble."""
FAILURE_SECONDS = 30.0
"""For how long a failure of the database counts when nothing worked since."""


class WorkHealth:
    """Notes what a worker last managed to do and what it could not. Times are those of a monotonic clock."""

    def __init__(self) -> None:
        self._swept_at = time.monotonic()
        self._failed_at = float("-inf")
        self._moved_at = float("-inf")
        self._failure = ""
        self._ready: tuple[str, int] | None = None
        self._ready_since = 0.0

    def swept(self) -> None:
        self._swept_at = time.monotonic()

    def failed(self, reason: str) -> None:
        """Work stopped because of the database or the disk."""
        self._failed_at, self._failure = time.monotonic(), reason

    def moved(self) -> None:
        """A run was advanced as far as it could go."""
        self._moved_at = time.monotonic()

    def saw_ready(self, run: tuple[str, int] | None) -> None:
        """The first run that could start while there was room for it, with its dispatch number."""
        if run != self._ready:
            self._ready, self._ready_since = run, time.monotonic()

    def failed_within(self, seconds: float) -> bool:
        return time.monotonic() - self._failed_at < seconds

    @property
    def is_sweeping(self) -> bool:
        return time.monotonic() - self._swept_at < LATE_SECONDS

    @property
    def trouble(self) -> str:
        """Why work does not move, in a sentence; empty when it does."""
        if self.failed_within(FAILURE_SECONDS) and self._moved_at < self._failed_at:
            return f"work has stopped: {self._failure}"
        if not self.is_sweeping:
            return f"nobody has looked after the runs for {time.monotonic() - self._swept_at:.0f} seconds"
        stood = time.monotonic() - self._ready_since
        if self._ready is not None and stood > LATE_SECONDS:
            return f"run {self._ready[0][-8:]} could start and was not taken for {stood:.0f} seconds"
        return ""
