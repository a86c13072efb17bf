"""How long a worker may still act on a run, by a clock that nobody moves."""

from __future__ import annotations

from colleague.clock import boot_time_ms

LEASE_MS = 30_000


class Lease:
    """Counts from before it was asked for, so that it never ends later here than in the database."""

    def __init__(self) -> None:
        self._until = boot_time_ms() + LEASE_MS

    def renewed(self, asked_at: int) -> None:
        self._until = asked_at + LEASE_MS

    def end(self) -> None:
        self._until = 0

    @property
    def is_over(self) -> bool:
        return boot_time_ms() >= self._until
