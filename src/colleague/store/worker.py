"""A worker: wakes, takes the fairest run, has it advanced, and mends what others left.

Our rows are the truth, and a wake-up is only a wake-up, so the same worker serves one process on SQLite and
many on PostgreSQL; there, LISTEN brings the wake-ups of the others."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

from colleague.store import lease
from colleague.store.lease import boot_time_ms
from colleague.store.run import Hold, fenced
from colleague.store.sweep import forget, sweep
from colleague.store.tx import Database, Fenced
from colleague.store.wake import CHANNEL
from colleague.store.work import Taken, ended_by, give_back, release, renew, take_some

log = logging.getLogger(__name__)

SWEEP_SECONDS = 2.0
FORGET_EVERY = 1800  # sweeps: about once an hour


class Advance(Protocol):
    """What a higher room does with a taken run: goes on until it is done, waiting or retrying."""

    def __call__(self, taken: Taken) -> Awaitable[None]: ...


class Worker:
    """Advances runs until it is stopped; then gives back what it holds."""

    def __init__(
        self,
        database: Database,
        advance: Advance,
        *,
        limit: int = 32,
        name: str = "",
        only: Collection[str] | None = None,
        keep_ms: int | None = None,
    ) -> None:
        self._keep_ms = keep_ms
        self._only = only
        self.name = name or f"{os.uname().nodename}:{os.getpid()}"
        self._database = database
        self._advance = advance
        self._limit = limit
        self._awake = asyncio.Event()
        self._held: dict[asyncio.Task[None], Taken] = {}
        self._last_expert = ""
        self._stopping = False

    async def run(self) -> None:
        """Works until `stop` is called."""
        wake = self._wake_from(asyncio.get_running_loop())
        self._database.listeners.append(wake)
        helpers = [asyncio.create_task(self._sweep_forever())]
        url = getattr(self._database, "url", None)
        if url:
            helpers.append(asyncio.create_task(_listen(url, wake)))
        try:
            while not self._stopping:
                self._awake.clear()
                await self._take_all()
                await self._awake.wait()
        finally:
            self._database.listeners.remove(wake)
            await _cancelled(helpers)
            await self._give_back_all()

    def stop(self) -> None:
        self._stopping = True
        self._awake.set()

    @property
    def busy(self) -> int:
        return len(self._held)

    def _wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it this worker
                loop.call_soon_threadsafe(self._awake.set)

        return wake

    async def _take_all(self) -> None:
        while len(self._held) < self._limit and not self._stopping and not self._one_is_alone():
            room = self._limit - len(self._held)
            found = await self._take_some(room)
            for taken in found:
                self._start(taken)
            if len(found) < room:
                return

    def _one_is_alone(self) -> bool:
        return any(taken.alone for taken in self._held.values())

    async def _take_some(self, most: int) -> list[Taken]:
        database, expert = self._database, self._last_expert
        asked_at = boot_time_ms()
        found = await database.write(
            lambda tx: take_some(tx, self.name, database.lease_now(tx), expert, most, only=self._only)
        )
        self._last_expert = found[-1].run.expert if found else ""
        for taken in found:
            taken.lease.renewed(asked_at)
        return found

    def _start(self, taken: Taken) -> None:
        before = list(self._held) if taken.alone else []
        task = asyncio.create_task(self._hold(taken, before), name=f"run {taken.run.id}")
        self._held[task] = taken
        task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        """A run that ends wakes its lane by itself; what had no room must be looked for."""
        full = len(self._held) >= self._limit or self._one_is_alone()
        self._held.pop(task, None)
        if full:
            self._awake.set()

    async def _hold(self, taken: Taken, before: Collection[asyncio.Task[None]]) -> None:
        """One run, after those that it may not run beside, with its lease kept alive meanwhile."""
        keeping = asyncio.create_task(self._keep_lease(taken, asyncio.current_task()))
        try:
            if before:
                await asyncio.wait(before)
            await self._advance(taken)
        except Fenced:
            log.info("run %s was taken over", taken.run.id)
        except asyncio.CancelledError:
            if not self._stopping:
                log.warning("run %s lost its lease", taken.run.id)
            raise
        except Exception:
            log.exception("run %s could not be advanced", taken.run.id)
            await self._release(taken.hold)
        finally:
            await _cancelled([keeping])

    async def _release(self, hold: Hold) -> None:
        """A bug must not leave a run in nobody's hands; one that fails every time fails its attempt."""
        with contextlib.suppress(Fenced):
            await self._database.write(lambda tx: release(tx, fenced(tx, hold)))

    async def _keep_lease(self, taken: Taken, owner: asyncio.Task[None] | None) -> None:
        """Renews in good time; when it no longer can, the work on the run is stopped."""
        database = self._database
        while True:
            await asyncio.sleep(lease.LEASE_MS / 3000)
            asked_at = boot_time_ms()
            try:
                await database.write(lambda tx: renew(tx, taken.hold, database.lease_now(tx)))
                taken.lease.renewed(asked_at)
            except Fenced:
                if owner is not None and not await database.read(lambda tx: ended_by(tx, taken.hold)):
                    owner.cancel()
                return

    async def _sweep_forever(self) -> None:
        for round_ in itertools.count():
            try:
                await sweep(self._database)
                if self._keep_ms is not None and round_ % FORGET_EVERY == 0:
                    await forget(self._database, self._keep_ms)
            except Exception:
                log.exception("sweep failed")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _give_back_all(self) -> None:
        """A graceful stop: whatever is held can be taken again at once."""
        held = dict(self._held)
        await _cancelled(list(held))
        for taken in held.values():
            with contextlib.suppress(Fenced):
                await self._database.write(lambda tx, hold=taken.hold: give_back(tx, hold))  # type: ignore[misc]


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(url: str, wake: Callable[[], None]) -> None:
    """Wake-ups from other processes on PostgreSQL; the sweep covers what is missed while reconnecting."""
    import psycopg

    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                async for _ in connection.notifies():
                    wake()
        except psycopg.Error:
            await asyncio.sleep(1)
