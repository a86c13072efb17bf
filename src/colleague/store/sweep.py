"""Mending what a crash left between two commits, and acting on what has become due."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from colleague.errors import DatabaseUnavailable
from colleague.store.announce import look_at_child
from colleague.store.approvals import expire
from colleague.store.claims import next_attempt, release
from colleague.store.inbox import start_waiting
from colleague.store.lanes import lock_lane
from colleague.store.notify import wake
from colleague.store.retention import forget_old
from colleague.store.run import lock_run
from colleague.store.sla import note_breach
from colleague.store.sql import bindparam, select
from colleague.store.tables import is_ready, runs, sql_literal
from colleague.store.timers import Timer, claim, due_timers, retries_of_a_wrong_clock
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)

GRACE_MS = 5_000
_LOST = (
    select(runs.c.id)
    .where(runs.c.status == sql_literal("running"), runs.c.lease_until < bindparam("late"))
    .limit(100)
)
_READY = select(runs.c.id).where(is_ready()).limit(1)


async def sweep(database: Database, *, held: Collection[str] = (), take_over_lost: bool = True) -> int:
    """Due timers, lost workers, forgotten wake-ups. Returns how many things it did.

    `held` are the runs that the worker who asks holds itself, whatever their leases say."""
    timers, lost = await database.read(lambda tx: _look(tx, database.lease_now(tx)))
    done = 0
    for timer in timers:
        done += await _mend(database, lambda tx, timer=timer: fire(tx, timer))  # type: ignore[misc]
    for run_id in lost if take_over_lost else ():
        if run_id not in held:
            done += await _mend(
                database,
                lambda tx, run_id=run_id: take_over(tx, run_id, database.lease_now(tx)),  # type: ignore[misc]
            )
    await database.write(_wake_if_work)  # also when nothing is ready: who cannot write is to learn of it now
    return done


def _look(tx: Tx, lease_now: int) -> tuple[list[Timer], list[str]]:
    """What is due, and which runs are lost."""
    return [*due_timers(tx), *retries_of_a_wrong_clock(tx)], lost_runs(tx, lease_now)


async def _mend(database: Database, work: Callable[[Tx], bool]) -> bool:
    """One that cannot be mended is in nobody's way; without the database there is nothing to mend."""
    try:
        return await database.write(work)
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("something that is due or lost could not be mended")
        return False


async def forget(database: Database, keep_ms: int) -> int:
    """What ended longer ago than is kept, a little at a time, so that nobody has to wait for it."""
    gone = 0
    while count := await database.write(lambda tx: forget_old(tx, keep_ms)):
        gone += count
    return gone


def fire(tx: Tx, timer: Timer) -> bool:
    """Claims one timer and does what it is for, together."""
    if timer.kind == "inbox":
        lock_lane(tx, timer.subject)
        return claim(tx, timer) and start_waiting(tx, timer.subject)
    run = lock_run(tx, timer.run_id) if timer.run_id else None
    if not claim(tx, timer) or run is None:
        return False
    if timer.kind == "retry" and run.status == "retrying":
        next_attempt(tx, run)
    elif timer.kind == "expiry":
        expire(tx, timer.subject)
    elif timer.kind == "delegation" and run.status != "done":
        look_at_child(tx, run, timer.subject)
    elif timer.kind == "sla" and run.status != "done":
        note_breach(tx, run)
    return True


def lost_runs(tx: Tx, lease_now: int) -> list[str]:
    """Runs whose worker has not renewed its lease for longer than a lease."""
    return [str(run_id) for (run_id,) in tx.rows(_LOST, late=lease_now - GRACE_MS)]


def take_over(tx: Tx, run_id: str, lease_now: int) -> bool:
    """Puts a lost run back in the queue."""
    run = lock_run(tx, run_id)
    lease = tx.one(select(runs.c.lease_until).where(runs.c.id == run_id))
    if run.status != "running" or lease is None or (lease[0] or 0) >= lease_now - GRACE_MS:
        return False
    release(tx, run)
    return True


def _wake_if_work(tx: Tx) -> None:
    if tx.rows(_READY):
        wake(tx)
