"""Forgetting what was said long ago. Never what is unfinished, parked or unknown, nor what is in use."""

from __future__ import annotations

import json

from colleague.store.delegations import OPEN
from colleague.store.inbox import count_waiting
from colleague.store.lanes import head_of, lock_lane
from colleague.store.session_entry import SessionEntry, begin_transcript, find_session
from colleague.store.sql import Expression, and_, delete, exists, or_, select
from colleague.store.tables import (
    approvals,
    archives,
    delegations,
    inbox,
    is_open,
    outbox,
    runs,
    session_items,
    sessions,
    sql_literal,
)
from colleague.store.tx import Tx

ARCHIVED_BY = "subagents.archiveAfterMinutes"


def may_be_forgotten(limit_at: int) -> Expression:
    """Whether nobody needs a run that ended before then: it is no turn of a conversation in use, no question
    of it is open (a draft, a learning, a parked call) or was parked and decided lately, no run that goes on
    handed it over, and no work that it handed over is to be told of yet."""
    of_session = and_(sessions.c.id == runs.c.transcript, sessions.c.updated_at >= limit_at)
    lately = and_(approvals.c.parked == 1, approvals.c.decided_at >= limit_at)
    needed = or_(approvals.c.status == sql_literal("pending"), lately)
    asked = and_(approvals.c.run_id == runs.c.id, needed)
    parent = runs.alias()
    handed_over = and_(parent.c.id == runs.c.parent_run, parent.c.status != sql_literal("done"))
    expects = and_(delegations.c.parent_run == runs.c.id, delegations.c.status.in_(OPEN))
    return and_(*(~exists().where(each) for each in (of_session, asked, handed_over, expects)))


def forget_items(tx: Tx, limit_at: int, *, limit: int = 500) -> int:
    """Deletes what was said in archives that ended before then, and in sessions that were idle since then, as
    far as the runs of it are gone; returns how many items."""
    gone = ~exists().where(runs.c.id == session_items.c.run_id)
    free = or_(session_items.c.run_id.is_(None), gone)
    waiting = exists().where(inbox.c.session_key == session_items.c.session_key)
    ended = select(archives.c.id).where(archives.c.ended_at < limit_at)
    idle = select(sessions.c.id).where(sessions.c.updated_at < limit_at)
    old = or_(session_items.c.transcript.in_(ended), session_items.c.transcript.in_(idle))
    query = select(session_items.c.session_key, session_items.c.position)
    rows = tx.all(query.where(old, free, ~waiting, session_items.c.created_at < limit_at).limit(limit))
    for row in rows:
        this = session_items.c.session_key == row.session_key, session_items.c.position == row.position
        tx.execute(delete(session_items).where(*this))
    left = exists().where(session_items.c.transcript == archives.c.id)
    at_work = exists().where(runs.c.transcript == archives.c.id)
    tx.execute(delete(archives).where(archives.c.ended_at < limit_at, ~left, ~at_work))
    _forget_hidden(tx, limit_at)
    return len(rows)


def _forget_hidden(tx: Tx, limit_at: int) -> None:
    """Sessions that belonged to one message alone; all others stay, with what was set for them."""
    used = exists().where(session_items.c.session_key == sessions.c.key)
    at_work = exists().where(runs.c.session_key == sessions.c.key)
    old = sessions.c.hidden == 1, sessions.c.updated_at < limit_at
    tx.execute(delete(sessions).where(*old, ~used, ~at_work))


def idle_children(tx: Tx, idle_ms: int) -> list[str]:
    """The sub-agents in which nothing has happened for so long; not those that are there to be talked to."""
    idle = sessions.c.spawned_by.is_not(None), sessions.c.updated_at < tx.now - idle_ms
    rows = tx.all(select(sessions.c.key, sessions.c.origin).where(*idle).order_by(sessions.c.updated_at))
    return [str(row.key) for row in rows if json.loads(row.origin or "{}").get("mode") != "session"]


def archive_child(tx: Tx, key: str, idle_ms: int) -> bool:
    """Closes a sub-agent: what it said stays as an archive, and the session is no longer listed. False for
    one that still has something to do, to tell or to ask."""
    lock_lane(tx, key)
    entry = find_session(tx, key)
    if entry is None or entry.updated_at >= tx.now - idle_ms or _is_needed(tx, entry):
        return False
    begin_transcript(tx, key, ARCHIVED_BY, closes=True)
    tx.execute(delete(sessions).where(sessions.c.key == key))
    return True


def _is_needed(tx: Tx, entry: SessionEntry) -> bool:
    """At work, with messages that wait, with questions or news that are open, or the parent of a child."""
    if head_of(tx, entry.key) is not None or count_waiting(tx, entry.key):
        return True
    own = runs.c.session_key == entry.key
    asked = select(approvals.c.id).join(runs, runs.c.id == approvals.c.run_id)
    told = select(outbox.c.id).join(runs, runs.c.id == outbox.c.run_id)
    open_ones = (
        asked.where(own, approvals.c.status == sql_literal("pending")),
        told.where(own, outbox.c.status.in_(("waiting", "sending", "failed"))),
        select(sessions.c.key).where(sessions.c.spawned_by == entry.key),
        select(runs.c.id).where(runs.c.parent_run.in_(select(runs.c.id).where(own)), is_open()),
    )
    return any(tx.one(query.limit(1)) is not None for query in open_ones)
