"""A worker: wakes, takes the fairest run, has it advanced, and mends what others left.

Our rows are the truth, and a wake-up is only a wake-up, so the same worker serves one process on SQLite and
many on PostgreSQL; there, LISTEN brings the wake-ups of the others."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol

from colleague.background_tasks import BackgroundTasks
from colleague.clock import boot_time_ms
from colleague.errors import DatabaseUnavailable
from colleague.shortage import is_shortage
from colleague.store import lease
from colleague.store.claims import (
    KindLimits,
    Taken,
    ended_by,
    first_ready,
    give_back,
    held_by,
    release,
    renew,
    take_some,
)
from colleague.store.notify import CHANNEL
from colleague.store.run import Hold, RunKind, fenced, get_run
from colleague.store.sweep import forget, sweep
from colleague.store.tx import Database, Fenced, Tx
from colleague.store.work_health import WorkHealth

log = logging.getLogger(__name__)

SWEEP, FORGET, LISTENER = "sweep", "removal of old runs", "listener for other processes"
ENDED = "the run has ended"
SWEEP_SECONDS = 2.0
FORGET_SECONDS = 3600.0
SHORTEST_REST, LONGEST_REST = 1.0, 15.0
"""Seconds without a new run, after the database or the disk has failed one."""
QUIET_SECONDS = 10.0
_DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS))


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
        limits: KindLimits | None = None,
        keep_ms: int | None = None,
        background: BackgroundTasks | None = None,
    ) -> None:
        self._keep_ms = keep_ms
        self._only = only
        self.limits: KindLimits = limits or {}
        # unique for each worker: a run that is claimed in its name and that it does not hold is nobody's
        self.name = name or f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(3)}"
        self.health = WorkHealth()
        self._database = database
        self._advance = advance
        self._limit = limit
        self._awake = asyncio.Event()
        self._taking = asyncio.Lock()
        self._held: dict[asyncio.Task[None], Taken] = {}
        self._held_ids: set[str] = set()  # read by the thread that commits
        self._last_expert = ""
        self._stopping = self._on_hold = False
        self._rest, self._rests_until = SHORTEST_REST, 0.0
        self._background = background or BackgroundTasks()

    async def run(self) -> None:
        """Works until `stop` is called."""
        loop = asyncio.get_running_loop()
        wake, stop = self._wake_from(loop), self._stop_from(loop)
        self._database.listeners.append(wake)
        self._database.watchers.append(stop)
        self._background.start(SWEEP, self._sweep_forever)
        self._background.start(FORGET, self._forget_forever)
        helpers = [SWEEP, FORGET]
        url = getattr(self._database, "url", None)
        if url:
            self._background.start(LISTENER, lambda: _listen(url, wake))
            helpers.append(LISTENER)
        try:
            while not self._stopping:
                self._awake.clear()
                await self._look_for_work()
                await self._awake.wait()
        finally:
            self._database.listeners.remove(wake)
            self._database.watchers.remove(stop)
            await self._background.stop(*helpers)
            await self.give_back_all()

    def stop(self) -> None:
        self._stopping = True
        self._awake.set()

    def hold(self, held: bool) -> None:
        """While held, no further run is taken; what is under way goes on."""
        self._on_hold = held
        self._awake.set()

    def wake(self) -> None:
        """There may be something to take."""
        self._awake.set()

    @property
    def busy(self) -> int:
        return len(self._held)

    def _wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it this worker
                loop.call_soon_threadsafe(self._awake.set)

        return wake

    def _stop_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[str], None]:
        """A run that a person ended is not worked on any longer than it takes to hear of it."""

        def stop(subject: str) -> None:
            if subject not in self._held_ids:
                return  # most news is of others: waking the loop for each costs more than looking
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._stop_run, subject)

        return stop

    def _stop_run(self, run_id: str) -> None:
        for task, taken in self._held.items():
            if taken.run.id == run_id:
                task.cancel(ENDED)

    async def _look_for_work(self) -> None:
        """An error here must not touch what is held; the next look comes by itself."""
        left = self._rests_until - time.monotonic()
        if left <= 0:
            try:
                await self._take_all()
                return
            except Exception as error:  # noqa: BLE001 - noted
                self._note(error, "no run could be taken")
                left = self._take_a_rest()
        asyncio.get_running_loop().call_later(left, self._awake.set)

    def _note(self, error: BaseException, what: str) -> None:
        """Trouble of the surroundings needs no traceback and one line, not one for each thing it stops."""
        if is_outside_trouble(error):
            if not self.health.failed_within(QUIET_SECONDS):
                log.warning("%s: %s", what, error)
            self.health.failed(str(error))
        else:
            log.error("%s", what, exc_info=error)

    def _take_a_rest(self) -> float:
        """Seconds until the next run is taken: longer each time, until one succeeds."""
        rest, self._rest = self._rest, min(LONGEST_REST, self._rest * 2)
        self._rests_until = time.monotonic() + rest
        return rest

    @property
    def _has_room(self) -> bool:
        may_take = not self._stopping and not self._on_hold
        return may_take and len(self._held) < self._limit and not self._one_is_alone()

    async def _take_all(self) -> None:
        while self._has_room:
            room = self._limit - len(self._held)
            async with self._taking:
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
            lambda tx: take_some(
                tx, self.name, database.lease_now(tx), expert, most, only=self._only, limits=self.limits
            )
        )
        self._last_expert = found[-1].run.expert if found else ""
        for taken in found:
            taken.lease.renewed(asked_at)
        return found

    def _start(self, taken: Taken) -> None:
        before = list(self._held) if taken.alone else []
        task = asyncio.create_task(self._hold(taken, before), name=f"run {taken.run.id}")
        self._held[task] = taken
        self._held_ids.add(taken.run.id)
        task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        """A run that ends wakes its lane by itself; what had no room must be looked for."""
        full = len(self._held) >= self._limit or self._one_is_alone()
        taken = self._held.get(task)
        if full or (taken is not None and self._kind_is_full(taken.run.kind)):
            self._awake.set()
        if taken is not None:
            del self._held[task]
            self._held_ids.discard(taken.run.id)

    def _kind_is_full(self, kind: RunKind) -> bool:
        """Whether runs of this kind wait for one to end. Where there are other workers, theirs count, too."""
        limit = self.limits.get(kind)
        at_work = sum(taken.run.kind == kind for taken in self._held.values())
        return limit is not None and (self._database.shared or at_work >= limit)

    async def _hold(self, taken: Taken, before: Collection[asyncio.Task[None]]) -> None:
        """One run, after those that it may not run beside, with its lease kept alive meanwhile."""
        keeping = asyncio.create_task(self._keep_lease(taken, asyncio.current_task()))
        try:
            if before:
                await asyncio.wait(before)
            await self._advance(taken)
            self._rest = SHORTEST_REST
            self.health.moved()
        except Fenced:
            log.info("run %s was taken over", taken.run.id)
        except asyncio.CancelledError as cancelled:
            if ENDED in cancelled.args:
                log.info("the work on run %s is stopped: it has ended", taken.run.id)
            elif not self._stopping:
                log.warning("run %s lost its lease", taken.run.id)
            raise
        except Exception as error:  # noqa: BLE001 - noted
            self._note(error, f"run {taken.run.id} could not be advanced")
            await self._hand_back(taken.hold, error)
        finally:
            await _cancelled([keeping])

    async def _hand_back(self, hold: Hold, error: Exception) -> None:
        """A bug must not leave a run claimed by nobody; a run that fails every time fails its attempt.

        An outside failure is not counted against the run, and the next take waits."""

        def after_a_bug(tx: Tx) -> None:
            release(tx, fenced(tx, hold))

        outside = is_outside_trouble(error)
        if outside:
            self._take_a_rest()
        await self._try_to_return(hold, (lambda tx: give_back(tx, hold)) if outside else after_a_bug)

    async def _try_to_return(self, hold: Hold, work: Callable[[Tx], None]) -> bool:
        """What cannot be returned now is found by the sweep, which tries it again."""
        try:
            await self._database.write(work)
        except Fenced:
            pass
        except Exception as error:  # noqa: BLE001 - noted
            self._note(error, f"run {hold.run_id} could not be given back")
            return False
        return True

    async def _keep_lease(self, taken: Taken, owner: asyncio.Task[None] | None) -> None:
        """Renews in good time, and goes on trying. When the run is another's, the work on it is stopped."""
        pause = usual = lease.LEASE_MS / 3000
        while True:
            await asyncio.sleep(pause)
            try:
                if not await self._renew(taken):
                    if owner is not None:
                        owner.cancel(ENDED if await self._has_ended(taken) else None)
                    return
                pause = usual
            except Exception as error:  # noqa: BLE001 - noted
                self._note(error, f"the lease of run {taken.run.id} could not be renewed")
                pause = min(1.0, usual / 3)

    async def _renew(self, taken: Taken) -> bool:
        """False when somebody else has taken the run."""
        database, asked_at = self._database, boot_time_ms()
        try:
            await database.write(lambda tx: renew(tx, taken.hold, database.lease_now(tx)))
        except Fenced:
            return await database.read(lambda tx: ended_by(tx, taken.hold))
        taken.lease.renewed(asked_at)
        return True

    async def _has_ended(self, taken: Taken) -> bool:
        """As when a person cancels it."""
        return await self._database.read(lambda tx: get_run(tx, taken.run.id).status == "done")

    async def _sweep_forever(self) -> None:
        while True:
            try:
                await self._sweep()
                self.health.swept()
            except Exception as error:  # noqa: BLE001 - noted
                self._note(error, "the sweep failed")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _sweep(self) -> None:
        """Others are not taken over right after an outage: they could not renew their leases either."""
        held = [taken.run.id for taken in self._held.values()]
        recovering = lease.LEASE_MS / 3000 + 1
        await sweep(self._database, held=held, take_over_lost=not self.health.failed_within(recovering))
        await self._give_back_forgotten()
        looks = self._has_room and self._only is None
        ready = await self._database.read(lambda tx: first_ready(tx, self.limits)) if looks else None
        self.health.saw_ready(ready if self._has_room else None)

    async def _give_back_forgotten(self) -> None:
        """Runs in the name of this worker that no task of it holds: giving them back had failed."""
        async with self._taking:
            stored = await self._database.read(lambda tx: held_by(tx, self.name))
            held = {(taken.hold.run_id, taken.hold.epoch) for taken in self._held.values()}
        for hold in stored:
            if (hold.run_id, hold.epoch) not in held:
                await self._try_to_return(hold, lambda tx, hold=hold: give_back(tx, hold))  # type: ignore[misc]

    async def _forget_forever(self) -> None:
        while self._keep_ms is not None:
            try:
                await forget(self._database, self._keep_ms)
            except Exception as error:  # noqa: BLE001 - noted
                self._note(error, "old runs could not be removed")
            await asyncio.sleep(FORGET_SECONDS)

    async def give_back_all(self) -> None:
        """Takes nothing more; whatever is held can be taken again at once, by others."""
        self._stopping = True
        held = dict(self._held)
        await _cancelled(list(held))
        for taken in held.values():
            await self._try_to_return(taken.hold, lambda tx, hold=taken.hold: give_back(tx, hold))  # type: ignore[misc]


def is_outside_trouble(error: BaseException) -> bool:
    """The database is away, or the machine is short of something: no fault of the work that met it."""
    on_disk = isinstance(error, OSError) and error.errno in _DISK
    return on_disk or isinstance(error, DatabaseUnavailable) or is_shortage(error)


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _listen(url: str, wake: Callable[[], None]) -> None:
    """Wake-ups from other processes on PostgreSQL; what was missed while reconnecting is looked for."""
    import psycopg

    from colleague.store.postgres_connection import connection_settings

    settings: dict[str, Any] = {**connection_settings(url)}
    deaf = False
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True, **settings) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                deaf = False
                wake()
                async for _ in connection.notifies():
                    wake()
        except psycopg.Error as error:
            if not deaf:
                log.info("wake-ups of other processes are not heard for now: %s", error)
            deaf = True
        except Exception:
            log.exception("wake-ups of other processes are not heard")
        await asyncio.sleep(1)
