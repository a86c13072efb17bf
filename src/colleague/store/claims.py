"""What a worker does with a run: take it, keep it, give it back, end it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from colleague.store import lease
from colleague.store.activity_lines import tell_ended, tell_retry, tell_taken
from colleague.store.delegations import note_end
from colleague.store.inbox import start_waiting
from colleague.store.lanes import free_next, head_of, lock_lane, take_places
from colleague.store.lease import Lease
from colleague.store.notify import wake
from colleague.store.outbox import release_messages
from colleague.store.record import columns_of, record
from colleague.store.run import Hold, Outcome, Run, RunKind, fenced, get_run, lock_run, tell_session
from colleague.store.sla import note_late_end
from colleague.store.sql import CompoundSelect, Select, bindparam, func, select, union_all, update
from colleague.store.tables import attempts, is_ready, runs, sql_literal
from colleague.store.timers import clear_timer, set_timer
from colleague.store.trouble import LONGEST, Trouble
from colleague.store.tx import Fenced, Tx
from colleague.store.usual_statements import PLUS_ONE

ALONE_AFTER = 2
KindLimits = Mapping[RunKind, int]
"""How many runs of a kind may work at once."""
COUNTING = "limit/kinds"
"""The lane that is held while runs of limited kinds are counted."""


@dataclass(frozen=True)
class Taken:
    """A run that a worker has claimed, with its lease."""

    run: Run
    hold: Hold
    lease: Lease = field(default_factory=Lease, compare=False)

    @property
    def alone(self) -> bool:
        """Two workers died with it, so nothing else may run beside it."""
        return self.run.stalls >= ALONE_AFTER

    @property
    def poisonous(self) -> bool:
        """It took a worker down that ran nothing else: the attempt has failed."""
        return self.run.stalls > ALONE_AFTER


def take_some(
    tx: Tx,
    worker: str,
    lease_now: int,
    after_expert: str,
    most: int,
    *,
    only: Collection[str] | None = None,
    limits: KindLimits | None = None,
) -> list[Taken]:
    """The fairest runs that may start now. Fewer than `most`: there are no others, or the last is alone."""
    found: list[Taken] = []
    room = room_of(tx, limits or {}, lock=True)
    while len(found) < most and not (found and found[-1].alone):
        taken = take(tx, worker, lease_now, after_expert, only=only, without=_full(room))
        if taken is None:
            break
        if taken.run.kind in room:
            room[taken.run.kind] -= 1
        found.append(taken)
        after_expert = taken.run.expert
    return found


def room_of(tx: Tx, limits: KindLimits, *, lock: bool = False) -> dict[RunKind, int]:
    """How many more runs of each limited kind may work, over all workers. Locked, nobody else counts."""
    if not limits:
        return {}
    ready = select(runs.c.id).where(is_ready(), runs.c.kind.in_(list(limits))).limit(1)
    if lock and tx.locks_rows and tx.one(ready) is not None:
        lock_lane(tx, COUNTING)
    working = {kind: int(count) for kind, count in tx.rows(_count_working(tuple(limits)))}
    return {kind: most - working.get(kind, 0) for kind, most in limits.items()}


@cache
def _count_working(kinds: tuple[RunKind, ...]) -> Select:
    of_kinds = runs.c.kind.in_([sql_literal(kind) for kind in kinds])
    working = select(runs.c.kind, func.count()).where(runs.c.status == sql_literal("running"), of_kinds)
    return working.group_by(runs.c.kind)


def _full(room: Mapping[RunKind, int]) -> tuple[RunKind, ...]:
    return tuple(kind for kind, left in room.items() if left <= 0)


def take(
    tx: Tx,
    worker: str,
    lease_now: int,
    after_expert: str = "",
    *,
    only: Collection[str] | None = None,
    without: Collection[RunKind] = (),
) -> Taken | None:
    """The fairest run that may start now: of the next expert in turn, its oldest one.

    A host for one command takes `only` the runs it made or woke."""
    if only is None and not without:
        found = tx.rows(_ELIGIBLE, after=after_expert)
    else:
        found = [*tx.execute(_eligible(only, without), {"after": after_expert}).all()]
    if not found:
        return None
    run_id, dispatch = found[0]
    return _take(tx, run_id, dispatch, worker, lease_now)


def _eligible(only: Collection[str] | None = None, without: Collection[RunKind] = ()) -> CompoundSelect:
    """The first run of the experts after one; else that of them all. Another worker's is passed over."""
    mine = [] if only is None else [runs.c.id.in_(only)]
    if without:
        mine.append(runs.c.kind.not_in(without))
    first = (
        select(runs.c.id, runs.c.dispatch)
        .where(is_ready(), *mine)
        .order_by(runs.c.expert, runs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    later = first.where(runs.c.expert > bindparam("after"))
    return union_all(select(later.subquery()), select(first.subquery())).limit(1)


_ELIGIBLE = _eligible()
_TAKE = (
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.status == "queued", runs.c.dispatch == bindparam("sent"))
    .values(
        status="running",
        epoch=runs.c.epoch + 1,
        worker=bindparam("by"),
        lease_until=bindparam("until"),
        started_at=func.coalesce(runs.c.started_at, bindparam("now")),
    )
    .returning(*columns_of(Run, runs))
)


def _take(tx: Tx, run_id: str, dispatch: int, worker: str, lease_now: int) -> Taken | None:
    """A compare-and-set of status and dispatch number, which raises the epoch."""
    given = {
        "run": run_id,
        "sent": dispatch,
        "by": worker,
        "until": lease_now + lease.LEASE_MS,
        "now": tx.now,
    }
    taken = tx.rows(_TAKE, **given)
    if not taken:
        return None
    run = record(Run, taken[0])
    tell_taken(tx, run)
    tell_session(tx, run)
    return Taken(run, Hold(run.id, run.epoch, run.lane))


def renew(tx: Tx, hold: Hold, lease_now: int) -> None:
    """Keeps the lease; `lease_now` was read before this was sent."""
    _fenced_update(tx, hold, lease_until=lease_now + lease.LEASE_MS)


def _fenced_update(tx: Tx, hold: Hold, **values: Any) -> None:
    """The fence and the change in one statement."""
    ours = {"id": hold.run_id, "epoch": hold.epoch, "status": "running"}
    if not tx.update(runs, ours, **values):
        raise Fenced(hold.run_id)


def give_back(tx: Tx, hold: Hold) -> None:
    """A worker that stops on purpose; the run can be taken again at once."""
    fenced(tx, hold)
    _queue(tx, hold.run_id)


def release(tx: Tx, run: Run) -> None:
    """A locked run whose worker is dead can be taken again."""
    tx.update(runs, {"id": run.id}, stalls=PLUS_ONE)
    _queue(tx, run.id)


def release_all(tx: Tx) -> int:
    """On SQLite holding the home's lock proves that every earlier worker is dead."""
    held = [row[0] for row in tx.all(select(runs.c.id).where(runs.c.status == sql_literal("running")))]
    for run_id in held:
        release(tx, lock_run(tx, run_id))
    release_messages(tx)
    return len(held)


_HELD = select(runs.c.id, runs.c.epoch, runs.c.lane).where(
    runs.c.status == sql_literal("running"), runs.c.worker == bindparam("by")
)


def held_by(tx: Tx, worker: str) -> list[Hold]:
    """What the store says that a worker holds."""
    return [Hold(*row) for row in tx.rows(_HELD, by=worker)]


def first_ready(tx: Tx, limits: KindLimits | None = None) -> tuple[str, int] | None:
    """A run that may start now, with its dispatch number; always the same one while nobody takes it."""
    full = _full(room_of(tx, limits or {}))
    query = select(runs.c.id, runs.c.dispatch).where(is_ready(), runs.c.kind.not_in(full))
    row = tx.one(query.order_by(runs.c.expert, runs.c.id).limit(1))
    return (row.id, row.dispatch) if row else None


def progress(tx: Tx, hold: Hold, working_ms: int) -> None:
    """A model answer: the worker is no poison, and its working time is kept. Raises Fenced."""
    _fenced_update(tx, hold, stalls=0, working_ms=working_ms, trouble=None)


def keep_progress(tx: Tx, hold: Hold, working_ms: int) -> None:
    """The same for a finished call, which counts even when the run is held by another by now."""
    ours = {"id": hold.run_id, "epoch": hold.epoch, "status": "running"}
    tx.update(runs, ours, stalls=0, working_ms=working_ms)


def end_run(tx: Tx, run: Run, outcome: Outcome, **result: str | None) -> None:
    """Ends a run that is locked with its lane, and frees the next one there. Nothing of it stays open."""
    values: dict[str, Any] = {"status": "done", "outcome": outcome, "ready": 0, "ended_at": tx.now}
    values |= {"worker": None, "lease_until": None, "epoch": PLUS_ONE, "retry_at": None, "trouble": None}
    values |= result
    tx.update(runs, {"id": run.id}, **values)
    end_attempt(tx, run, outcome, result.get("error"))
    tell_ended(tx, run, outcome, result.get("error"))
    tell_session(tx, run)
    note_late_end(tx, run)
    if run.retry_at is not None:
        clear_timer(tx, "retry", run.id)
    if run.sla is not None:
        clear_timer(tx, "sla", run.id)
    note_end(tx, run)
    if run.lane is not None:
        _free(tx, run.lane)


def _free(tx: Tx, lane: str) -> None:
    """The next run of the lane may start; without one, what waits in the session's inbox becomes one."""
    if free_next(tx, lane):
        wake(tx)
    else:
        start_waiting(tx, lane)


def ended_by(tx: Tx, hold: Hold) -> bool:
    """Whether the holder itself ended the run: what it does after that is not to be disturbed."""
    run = get_run(tx, hold.run_id)
    return run.status == "done" and run.outcome != "cancelled" and run.epoch == hold.epoch + 1


def end_attempt(tx: Tx, run: Run, outcome: str, error: str | None) -> None:
    this = {"run_id": run.id, "number": run.attempt}
    tx.update(attempts, this, ended_at=tx.now, outcome=outcome, error=error)


def attempt_error(tx: Tx, run_id: str, number: int) -> str | None:
    row = tx.one(select(attempts.c.error).where(attempts.c.run_id == run_id, attempts.c.number == number))
    return row[0] if row else None


def attempt_started(tx: Tx, run_id: str, number: int) -> int:
    query = select(attempts.c.started_at).where(attempts.c.run_id == run_id, attempts.c.number == number)
    row = tx.one(query)
    return int(row[0]) if row else tx.now


def retry_later(tx: Tx, hold: Hold, error: str, delay_ms: int) -> None:
    """The attempt failed; the next one continues after a pause that survives restarts. The lane is kept."""
    run = fenced(tx, hold, lane=True)
    end_attempt(tx, run, "failed", error)
    due = tx.now + delay_ms
    trouble = Trouble(f"attempt {run.attempt} failed: {error}"[:LONGEST], tx.now, due).to_json()
    let_go = {"worker": None, "lease_until": None, "epoch": PLUS_ONE, "trouble": trouble}
    tx.update(runs, {"id": run.id}, status="retrying", ready=0, retry_at=due, **let_go)
    set_timer(tx, "retry", run.id, run.id, due)
    tell_retry(tx, run, error, delay_ms)


def next_attempt(tx: Tx, run: Run) -> None:
    """Begins the next attempt of a locked run that is retrying or dead; alone, if it crashed workers."""
    number, stalls = run.attempt + 1, min(run.stalls, ALONE_AFTER)
    tx.insert(attempts, run_id=run.id, number=number, started_at=tx.now)
    tx.update(runs, {"id": run.id}, attempt=number, stalls=stalls, working_ms=0, retry_at=None)
    _queue(tx, run.id)


def retry_now(tx: Tx, run_id: str) -> bool:
    """Ends the pause before a run's next attempt. False when it does not pause."""
    run = lock_run(tx, run_id)
    if run.status != "retrying":
        return False
    clear_timer(tx, "retry", run.id)
    next_attempt(tx, run)
    return True


def revive(tx: Tx, run_id: str) -> None:
    """A dead letter goes to the end of its lane, with the same transcript and the next attempt."""
    run = lock_run(tx, run_id)
    if run.status != "done":
        return
    [place] = take_places(tx, [run.lane])
    first = run.lane is None or head_of(tx, run.lane) is None
    tx.update(runs, {"id": run_id}, seq=place, outcome=None, error=None, ended_at=None)
    next_attempt(tx, run)
    if not first:
        tx.update(runs, {"id": run_id}, ready=0)


def wake_run(tx: Tx, run: Run) -> None:
    """A locked run that waited can go on. It kept its lane, so it is first there.

    One that pauses between attempts does so to the end, whatever is decided meanwhile."""
    if run.status == "waiting":
        _queue(tx, run.id)


def _queue(tx: Tx, run_id: str) -> None:
    again = {"status": "queued", "ready": 1, "worker": None, "lease_until": None, "trouble": None}
    tx.update(runs, {"id": run_id}, dispatch=PLUS_ONE, epoch=PLUS_ONE, **again)
    wake(tx)
