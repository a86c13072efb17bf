"""Forgetting what ended long ago. Never what is unfinished, dead, unknown, asked or still to be told."""

from __future__ import annotations

from colleague.run_document import QUESTIONS
from colleague.store.approvals import LEARNINGS
from colleague.store.outbox import TO_SEND
from colleague.store.session_retention import forget_items, may_be_forgotten
from colleague.store.sql import and_, delete, exists, or_, select
from colleague.store.tables import (
    approvals,
    attempts,
    calls,
    commands,
    compactions,
    dedupe,
    delegations,
    events,
    file_reads,
    messages,
    model_requests,
    outbox,
    runs,
    sends,
    slots,
    spend,
    sql_literal,
    steps,
    timers,
)
from colleague.store.tx import Tx

DAY_MS = 86_400_000


def forget_old(tx: Tx, keep_ms: int = 30 * DAY_MS, *, limit: int = 500) -> int:
    """Deletes runs that ended longer ago than `keep_ms`, with all that belongs to them, and what was said in
    conversations that ended then; returns how many runs and items."""
    limit_at = tx.now - keep_ms
    unsettled = exists().where(and_(calls.c.run_id == runs.c.id, calls.c.status == "unknown"))
    told = or_(outbox.c.kind.not_in(QUESTIONS), outbox.c.channel == LEARNINGS)
    untold = exists().where(outbox.c.run_id == runs.c.id, told, *TO_SEND)
    old = (
        select(runs.c.id, runs.c.event_id)
        .where(
            runs.c.status == sql_literal("done"),
            runs.c.ended_at < limit_at,
            runs.c.outcome != "dead_letter",
            ~unsettled,
            ~untold,
            may_be_forgotten(limit_at),
        )
        .order_by(runs.c.ended_at)
        .limit(limit)
        .with_for_update(of=runs, skip_locked=True)  # somebody may be trying one again
    )
    rows = tx.all(old)
    ids = [row.id for row in rows]
    if ids:
        _delete_runs(tx, ids, [row.event_id for row in rows if row.event_id])
    tx.execute(delete(dedupe).where(dedupe.c.expires_at < tx.now))
    settled = and_(events.c.run_id.is_(None), events.c.outcome.is_not(None), events.c.received_at < limit_at)
    tx.execute(delete(events).where(settled))
    tx.execute(delete(slots).where(slots.c.settled_at < limit_at))
    return len(ids) + forget_items(tx, limit_at)


def _delete_runs(tx: Tx, ids: list[str], event_ids: list[str]) -> None:
    call_ids = select(calls.c.id).where(calls.c.run_id.in_(ids))
    tx.execute(delete(sends).where(sends.c.call_id.in_(call_ids)))
    of_runs = (file_reads, calls, commands, messages, model_requests, compactions)
    for table in (*of_runs, attempts, steps, approvals, outbox, spend, timers):
        tx.execute(delete(table).where(table.c.run_id.in_(ids)))
    tx.execute(delete(delegations).where(delegations.c.parent_run.in_(ids)))
    tx.execute(delete(runs).where(runs.c.id.in_(ids)))
    tx.execute(delete(events).where(or_(events.c.id.in_(event_ids), events.c.run_id.in_(ids))))
