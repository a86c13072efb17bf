"""Ending what a run handed over, when the run itself is ended.

The parent's part is in the commit that ends it: nobody expects the results any more, and a row of the outbox
says what is to be ended. A transaction of its own ends each child: nobody holds two lanes at once. Children
of children go the same way, so a crash in between delays a stop and never loses it."""

from __future__ import annotations

import json

from colleague.store.delegations import OPEN, Delegation, end_call, get_delegation
from colleague.store.inbox import count_waiting, drop_message, drop_waiting
from colleague.store.lanes import head_of, lock_lane
from colleague.store.outbox import (
    CHILD_STOP,
    SESSIONS,
    OutboxMessage,
    is_sent,
    put_in_outbox,
    sent,
    waiting_stops,
)
from colleague.store.record import columns_of, record
from colleague.store.run import Run
from colleague.store.session_entry import find_session
from colleague.store.sql import Expression, delete, func, or_, select, update
from colleague.store.tables import delegations, events, is_open, runs, session_items, sessions
from colleague.store.tx import Database, Tx


def stop_children_of_run(tx: Tx, run: Run, reason: str, *, awaited_only: bool = False) -> None:
    """What a locked run handed over is to end with it. `awaited_only`: the rest of it goes on."""
    where = delegations.c.parent_run == run.id
    _stop(tx, where & (delegations.c.status == "waiting") if awaited_only else where, reason)


def stop_children_of_session(tx: Tx, key: str, reason: str) -> None:
    """The same for all turns of a session. Its lane is locked, and none of them is at work."""
    _stop(tx, delegations.c.parent_session == key, reason)


def count_children(tx: Tx, key: str) -> int:
    """How much of what a session handed over goes on, or is still to be told."""
    return len(_going_on(tx, delegations.c.parent_session == key))


def _going_on(tx: Tx, where: Expression) -> list[Delegation]:
    unheard = (delegations.c.status == "silent") & delegations.c.ended_at.is_(None)
    query = select(*columns_of(Delegation, delegations)).where(
        where, or_(delegations.c.status.in_(OPEN), unheard)
    )
    return [record(Delegation, row) for row in tx.all(query.order_by(delegations.c.created_at))]


def _stop(tx: Tx, where: Expression, reason: str) -> None:
    for each in _going_on(tx, where):
        ended = each.ended_at or tx.now
        tx.update(delegations, {"call_id": each.call_id}, status="killed", ended_at=ended)
        put_in_outbox(tx, each.parent_run, CHILD_STOP, each.call_id, SESSIONS, json.dumps(reason))
        if each.status == "waiting":
            end_call(tx, each.call_id, f"It was ended with this turn: {reason}.", is_error=True)


async def end_stopped_children(database: Database) -> int:
    """Ends everything that is to be ended, children of children too; returns how much it was."""
    done = 0
    while found := await database.read(waiting_stops):
        for message in found:
            done += await database.write(lambda tx, message=message: stop_child(tx, message))  # type: ignore[misc]
    return done


def stop_child(tx: Tx, message: OutboxMessage) -> bool:
    """Ends one child. False when that was done already."""
    delegation = get_delegation(tx, message.subject)
    if delegation is not None:
        lock_lane(tx, delegation.child_session)
    if is_sent(tx, message.id):
        return False
    if delegation is not None:
        _end_child(tx, delegation, json.loads(message.body))
    sent(tx, message.id)
    return True


def _end_child(tx: Tx, delegation: Delegation, reason: str) -> None:
    """A session that was made for the task ends whole; in any other only what was handed over does."""
    entry = find_session(tx, delegation.child_session)
    if entry is not None and entry.spawned_by == delegation.parent_session:
        end_session(tx, entry.key, reason)
        return
    if drop_message(tx, delegation.child_event, reason):
        return
    row = tx.one(select(events.c.run_id).where(events.c.id == delegation.child_event))
    if row is not None and row.run_id is not None and _messages_of(tx, row.run_id) == 1:
        _cancel(tx, row.run_id, reason)


def _messages_of(tx: Tx, run_id: str) -> int:
    return int(tx.execute(select(func.count()).where(events.c.run_id == run_id)).scalar_one())


def end_session(tx: Tx, key: str, reason: str) -> bool:
    """Ends the runs of a session whose lane is locked, what waits in it and what it handed over. Nobody is
    told of its end. Whether something of it was at work."""
    about = (delegations.c.child_session == key, delegations.c.status.in_((*OPEN, "silent")))
    tx.execute(update(delegations).where(*about).values(status="killed", ended_at=tx.now))
    drop_waiting(tx, key, reason)
    ids = [row.id for row in tx.all(select(runs.c.id).where(runs.c.session_key == key, is_open()))]
    ended = [run_id for run_id in ids if _cancel(tx, run_id, reason)]
    stop_children_of_session(tx, key, reason)
    if tx.find(Delegation, delegations, {"child_session": key, "cleanup": "delete"}):
        remove_session(tx, key)
    return bool(ended)


def _cancel(tx: Tx, run_id: str, reason: str) -> bool:
    from colleague.store.cancel import cancel  # ending a run ends what it handed over

    return cancel(tx, run_id, reason)


def remove_session(tx: Tx, key: str) -> None:
    """A child that was not to be kept, unless it is at work again. Its runs stay as long as any."""
    if head_of(tx, key) is not None or count_waiting(tx, key):
        return
    tx.execute(delete(session_items).where(session_items.c.session_key == key))
    tx.execute(delete(sessions).where(sessions.c.key == key))
