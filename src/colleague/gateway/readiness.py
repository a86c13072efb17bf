"""Whether it can work: loop, database, worker and the work itself, looked at no more often than is useful."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from colleague.background_tasks import BackgroundTasks
from colleague.descriptors import can_open_another
from colleague.store.ids import new_id
from colleague.store.sql import delete, select
from colleague.store.tables import dedupe
from colleague.store.tx import Database, Tx
from colleague.store.work_health import WorkHealth

PATIENCE = 3.0
COUNTS_FOR = 0.5
ROOM = 32_768
"""Characters that must fit into the database: a full disk may still take a small row."""


@dataclass(frozen=True)
class CheckResult:
    """What came of one check, and how long it took."""

    ok: bool
    milliseconds: float


class Readiness:
    """Asked by anybody, without a token: whoever asks while a check is fresh gets the same one."""

    def __init__(self, database: Database, health: WorkHealth, background: BackgroundTasks) -> None:
        self._database, self._health, self._background = database, health, background
        self._lock = asyncio.Lock()
        self._last: dict[str, CheckResult] = {}
        self._at = float("-inf")

    async def check(self) -> dict[str, CheckResult]:
        async with self._lock:
            if time.monotonic() - self._at > COUNTS_FOR:
                self._last = await self._look()
                self._at = time.monotonic()
            return self._last

    async def _look(self) -> dict[str, CheckResult]:
        checks = {
            "database": self._write_and_read,
            "loop": _turn,
            "worker": self._is_sweeping,
            "work": self._moves,
            "tasks": self._tasks_work,
            "descriptors": _descriptors_left,
        }
        found = await asyncio.gather(*(_timed(check) for check in checks.values()))
        return dict(zip(checks, found, strict=True))

    async def _write_and_read(self) -> bool:
        return await self._database.write(_come_and_gone)

    async def _is_sweeping(self) -> bool:
        return self._health.is_sweeping

    async def _moves(self) -> bool:
        return not self._health.trouble

    async def _tasks_work(self) -> bool:
        """No task that works by itself is dead or keeps dying."""
        return not self._background.failing


async def _descriptors_left() -> bool:
    return can_open_another()


async def _timed(work: Callable[[], Awaitable[bool]]) -> CheckResult:
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE):
            fine = await work()
    except Exception:  # noqa: BLE001 - whatever it was, it is not ready
        fine = False
    return CheckResult(fine, round((time.monotonic() - began) * 1000, 1))


async def _turn() -> bool:
    await asyncio.sleep(0)
    return True


def _come_and_gone(tx: Tx) -> bool:
    """A row that is there and gone again within one commit."""
    key = {"expert": "", "trigger_name": "readyz", "dedupe_key": new_id()}
    tx.insert(dedupe, **key, event_id="0" * ROOM, expires_at=tx.now)
    same = dedupe.c.dedupe_key == key["dedupe_key"]
    found = tx.one(select(dedupe.c.event_id).where(same))
    tx.execute(delete(dedupe).where(same))
    return found is not None
