"""Rows with a due time. A timer's claim and its effect are one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.clock import STEP_MS
from colleague.store.record import columns_of, record
from colleague.store.sql import bindparam, delete, insert, select
from colleague.store.tables import attempts, timers
from colleague.store.tx import Tx

TimerKind = Literal["retry", "expiry", "sla", "inbox", "delegation"]


@dataclass(frozen=True)
class Timer:
    """Something that becomes due."""

    kind: TimerKind
    subject: str
    run_id: str | None
    due_at: int


_MOST = bindparam("most")
_DUE = (
    select(*columns_of(Timer, timers))
    .where(timers.c.due_at <= bindparam("now"))
    .order_by(timers.c.due_at)
    .limit(_MOST)
)
_BEGAN_LATER = (
    select(*columns_of(Timer, timers))
    .join(attempts, (attempts.c.run_id == timers.c.run_id) & (attempts.c.ended_at > bindparam("ahead")))
    .where(timers.c.kind == "retry", timers.c.due_at > bindparam("ahead"))
    .distinct()
    .limit(_MOST)
)
_SET = (
    insert(timers)
    .values({name: bindparam(name) for name in Timer.__dataclass_fields__})
    .on_conflict_do_update(index_elements=["kind", "subject"], set_={"due_at": bindparam("due_at")})
)
_CLEAR = delete(timers).where(
    timers.c.kind == bindparam("timer_kind"), timers.c.subject == bindparam("about")
)


def set_timer(tx: Tx, kind: TimerKind, subject: str, run_id: str | None, due_at: int) -> None:
    tx.execute(_SET, {"kind": kind, "subject": subject, "run_id": run_id, "due_at": due_at})


def clear_timer(tx: Tx, kind: TimerKind, subject: str) -> None:
    tx.execute(_CLEAR, {"timer_kind": kind, "about": subject})


def due_timers(tx: Tx, limit: int = 100) -> list[Timer]:
    """What is due, unlocked: whoever acts on one claims it first."""
    return [record(Timer, row) for row in tx.rows(_DUE, now=tx.now, most=limit)]


def retries_of_a_wrong_clock(tx: Tx, limit: int = 100) -> list[Timer]:
    """Pauses that began later than now: the clock was ahead then, and they would last too long."""
    rows = tx.rows(_BEGAN_LATER, ahead=tx.now + STEP_MS, most=limit)
    return [record(Timer, row) for row in rows]


def claim(tx: Tx, timer: Timer) -> bool:
    """True for the one who may act on it. Call it after locking what the timer is about."""
    same = (timers.c.kind == timer.kind, timers.c.subject == timer.subject, timers.c.due_at == timer.due_at)
    return tx.changed(delete(timers).where(*same))
