"""A database that remembers when it last answered whoever was given it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from colleague.store.tx import Database, Tx

T = TypeVar("T")


class Pulse:
    """Given to the worker, whose sweeps make it a heartbeat."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.shared = database.shared
        self.listeners = database.listeners
        self.url: str | None = getattr(database, "url", None)
        self._beat = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last answer."""
        return time.monotonic() - self._beat

    async def write(self, work: Callable[[Tx], T]) -> T:
        result = await self._database.write(work)
        self._beat = time.monotonic()
        return result

    async def read(self, work: Callable[[Tx], T]) -> T:
        result = await self._database.read(work)
        self._beat = time.monotonic()
        return result

    async def close(self) -> None:
        """It belongs to somebody else."""

    def lease_now(self, tx: Tx) -> int:
        return self._database.lease_now(tx)
