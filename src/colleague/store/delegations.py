"""Work that a run hands to another session: stored with the call that asks for it, told back exactly once.

What a child comes to is in its own run. Its commit puts a row into the outbox, and a transaction of its own
(`store/announce.py`) does the parent's part: nobody locks a parent's lane while holding a child's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from colleague.store.ids import short
from colleague.store.outbox import ANNOUNCEMENT, CHILD_QUESTION, SESSIONS, put_in_outbox
from colleague.store.record import columns_of, record
from colleague.store.run import Run, get_run
from colleague.store.sql import select, update
from colleague.store.tables import approvals, calls, delegations, is_open, runs, sends
from colleague.store.timers import clear_timer, set_timer
from colleague.store.tx import Tx

DelegationStatus = Literal["waiting", "going_on", "silent", "told", "killed"]
"""`waiting`: the parent's call does. `going_on`: the result becomes a turn. `silent`: nobody is told."""
OPEN: tuple[DelegationStatus, ...] = ("waiting", "going_on")
SOONEST_LOOK_MS = 1_000
GOES_ON = "The work goes on; its result comes to you as a new turn. Say so, and do not ask for it again."


@dataclass(frozen=True)
class Delegation:
    """One row of `delegations`."""

    call_id: str
    parent_run: str
    parent_session: str
    child_session: str
    child_event: str
    child_run: str | None
    """None while the message waits in the child's session."""
    status: DelegationStatus
    deferred: bool
    """Whether the child has ended its turn while work that it handed over itself goes on."""
    timeout_ms: int | None
    looked_at: int | None
    looked_epoch: int | None
    looked_ms: int
    turn_run: str | None
    """The turn of the parent's session that was begun with the result."""
    failure: str | None
    """Why there is no run at all: its message was dropped."""
    cleanup: str
    created_at: int
    ended_at: int | None


_COLUMNS = columns_of(Delegation, delegations)


@dataclass(frozen=True)
class NewDelegation:
    """What is to be stored with the call that hands work over."""

    call_id: str
    parent: Run
    child_session: str
    child_event: str
    child_run: str | None
    timeout_ms: int = 0
    """Working time of the child that the call waits for; 0 is not at all."""
    announces: bool = True
    cleanup: str = "keep"


def add_delegation(tx: Tx, new: NewDelegation) -> bool:
    """Stores it in the transaction that starts the child. Whether the call waits for the child."""
    waits = new.timeout_ms > 0
    status: DelegationStatus = "waiting" if waits else "going_on" if new.announces else "silent"
    row = Delegation(
        new.call_id,
        new.parent.id,
        new.parent.session_key,
        new.child_session,
        new.child_event,
        new.child_run,
        status,
        False,
        new.timeout_ms or None,
        tx.now,
        None,
        0,
        None,
        None,
        new.cleanup,
        tx.now,
        None,
    )
    tx.insert(delegations, **vars(row) | {"deferred": 0})
    if waits:
        _set_look(tx, row, new.timeout_ms)
    return waits


def get_delegation(tx: Tx, call_id: str) -> Delegation | None:
    found = tx.find(Delegation, delegations, {"call_id": call_id})
    return found[0] if found else None


def delegations_of(tx: Tx, parent_run: str) -> list[Delegation]:
    """What a run handed over, in order."""
    return tx.find(Delegation, delegations, {"parent_run": parent_run}, order=("created_at", "call_id"))


def open_delegations(tx: Tx, parent_session: str) -> list[Delegation]:
    """What a session has handed over and still expects a result of."""
    query = select(*_COLUMNS).where(
        delegations.c.parent_session == parent_session, delegations.c.status.in_(OPEN)
    )
    return [record(Delegation, row) for row in tx.all(query.order_by(delegations.c.created_at))]


def awaited_by(tx: Tx, run_id: str) -> list[tuple[int, int]]:
    """The places (position, place) of the open calls of a run that wait for a child."""
    query = (
        select(calls.c.position, calls.c.place)
        .select_from(delegations.join(calls, calls.c.id == delegations.c.call_id))
        .where(
            delegations.c.parent_run == run_id,
            delegations.c.status == "waiting",
            calls.c.result.is_(None),
        )
        .order_by(calls.c.position, calls.c.place)
    )
    return [(row.position, row.place) for row in tx.all(query)]


def waits_for(tx: Tx, session: str, other: str) -> bool:
    """Whether a session waits for another one, directly or through those that it waits for."""
    found, next_ones = {session}, [session]
    while next_ones:
        query = select(delegations.c.child_session).where(
            delegations.c.parent_session.in_(next_ones), delegations.c.status == "waiting"
        )
        next_ones = [key for key in {row.child_session for row in tx.all(query)} if key not in found]
        found.update(next_ones)
    return other in found - {session}


def asked_by(tx: Tx, run: Run) -> list[str]:
    """The sessions on whose behalf a run works: of the run that asked for it, of the one before it, ..."""
    found: list[str] = []
    seen = {run.id}
    parent = run.parent_run
    while parent is not None and parent not in seen:
        seen.add(parent)
        rows = tx.find(Run, runs, {"id": parent})
        if not rows:
            break
        found.append(rows[0].session_key)
        parent = rows[0].parent_run
    return found


def sends_in_a_row(tx: Tx, run: Run, child: str) -> int:
    """How often a session has sent to another one since a person last began a turn of it: in this turn, and
    in those that were begun with what came of earlier ones."""
    count, seen = 0, set[str]()
    while run.id not in seen:
        seen.add(run.id)
        count += sum(each.child_session == child for each in delegations_of(tx, run.id))
        told = get_delegation(tx, json.loads(run.inputs).get("delegation") or "")
        before = tx.find(Run, runs, {"id": told.parent_run}) if told else []
        run = before[0] if before else run
    return count


def child_runs(tx: Tx, run_id: str) -> list[str]:
    """The runs that a run handed work to, in order."""
    query = select(runs.c.id).where(runs.c.parent_run == run_id).order_by(runs.c.id)
    return [str(row.id) for row in tx.all(query)]


def family_of(tx: Tx, run_ids: Sequence[str]) -> list[str]:
    """These runs, those that they handed work to, and the turns that were begun with what came of any."""
    found = list(dict.fromkeys(run_ids))
    newest = found
    while newest:
        children = select(runs.c.id).where(runs.c.parent_run.in_(newest))
        about = delegations.c.parent_run.in_(newest) | delegations.c.child_run.in_(newest)
        turns = select(delegations.c.turn_run).where(about, delegations.c.turn_run.is_not(None))
        waiting = select(runs.c.id).where(
            runs.c.id.in_(select(delegations.c.parent_run).where(delegations.c.child_run.in_(newest))),
            is_open(),
        )
        rows = [*tx.all(children), *tx.all(turns), *tx.all(waiting)]
        newest = [row[0] for row in rows if row[0] not in found]
        found += list(dict.fromkeys(newest))
    return found


def note_child_run(tx: Tx, event_ids: Sequence[str], run_id: str) -> None:
    """Messages that waited in a session have become a run."""
    these = delegations.c.child_event.in_(event_ids)
    tx.execute(update(delegations).where(these).values(child_run=run_id))


def note_dropped(tx: Tx, event_id: str, reason: str) -> None:
    """A message that was handed over is not run: whoever expects its result is told why."""
    for each in tx.find(Delegation, delegations, {"child_event": event_id}):
        if each.status in OPEN and each.child_run is None:
            tx.update(delegations, {"call_id": each.call_id}, failure=reason, ended_at=tx.now)
            put_in_outbox(tx, each.parent_run, ANNOUNCEMENT, each.call_id, SESSIONS, "{}")


def note_end(tx: Tx, run: Run) -> None:
    """A locked run ends in this commit: its parent is to be told, unless it expects results of its own."""
    found = [*tx.find(Delegation, delegations, {"child_run": run.id}), *_deferred(tx, run.session_key)]
    found = [each for each in {each.call_id: each for each in found}.values() if each.ended_at is None]
    if not found:
        return
    later = bool(open_delegations(tx, run.session_key))
    for each in found:
        ends = {"deferred": 1} if later else {"deferred": 0, "ended_at": tx.now}
        tx.update(delegations, {"call_id": each.call_id}, child_run=run.id, **ends)
        if not later and (each.status in OPEN or each.cleanup == "delete"):
            put_in_outbox(tx, run.id, ANNOUNCEMENT, each.call_id, SESSIONS, "{}")


def _deferred(tx: Tx, session: str) -> list[Delegation]:
    where = {"child_session": session, "deferred": 1}
    return [each for each in tx.find(Delegation, delegations, where) if each.status in (*OPEN, "silent")]


def note_questions(tx: Tx, run: Run) -> None:
    """A run waits for a person from this commit on: a parent that waits for it is told."""
    for each in tx.find(Delegation, delegations, {"child_run": run.id, "status": "waiting"}):
        asked = [
            {"id": row.id, "operation": row.operation}
            for row in tx.all(
                select(approvals.c.id, approvals.c.operation)
                .where(approvals.c.run_id == run.id, approvals.c.status == "pending")
                .order_by(approvals.c.requested_at)
            )
        ]
        put_in_outbox(tx, run.id, CHILD_QUESTION, each.call_id, SESSIONS, json.dumps(asked))


def end_call(tx: Tx, call_id: str, text: str, source: str = "", *, is_error: bool = False) -> None:
    """Gives a call that waited its result. Its run and lane are locked."""
    result = json.dumps({"text": text, "source": source}, ensure_ascii=False)
    ended = {"status": "finished", "result": result, "is_error": int(is_error), "ended_at": tx.now}
    tx.update(calls, {"id": call_id}, **ended)
    tx.execute(update(sends).where(sends.c.call_id == call_id).values(ended_at=tx.now))
    clear_timer(tx, "delegation", call_id)


def let_go(tx: Tx, run_id: str, reason: str) -> bool:
    """The calls of a locked run that wait for children end now; the results come later. Whether any did."""
    waiting = [each for each in delegations_of(tx, run_id) if each.status == "waiting"]
    for each in waiting:
        detach(tx, each, f"{reason} {GOES_ON}")
    return bool(waiting)


def detach(tx: Tx, delegation: Delegation, text: str) -> None:
    tx.update(delegations, {"call_id": delegation.call_id, "status": "waiting"}, status="going_on")
    end_call(tx, delegation.call_id, text)


def look_again(tx: Tx, delegation: Delegation) -> str | None:
    """The timer of a call that waits is due: why it waits no longer, or None after setting the next one.

    The child's working time counts. What is stored of it is as old as its last answer, so a child that the
    same worker held at the last look has worked since then."""
    child = get_run(tx, delegation.child_run) if delegation.child_run else None
    if child is None:
        return _wait_on(tx, delegation, 0, None)
    if waits_for(tx, delegation.child_session, delegation.parent_session):
        return f"{delegation.child_session} waits for an answer of this session itself."
    if (blocked := blocked_reason(tx, child)) is not None:
        return blocked
    same = child.status == "running" and child.epoch == delegation.looked_epoch
    since = tx.now - (delegation.looked_at or tx.now) if same else 0
    return _wait_on(tx, delegation, max(child.working_ms, delegation.looked_ms + since), child)


def _wait_on(tx: Tx, delegation: Delegation, worked: int, child: Run | None) -> str | None:
    limit = delegation.timeout_ms or 0
    if worked >= limit:
        return f"There is no answer after {limit // 1000} seconds of work."
    if child is not None and child.epoch != delegation.looked_epoch:
        now = {"looked_at": tx.now, "looked_epoch": child.epoch, "looked_ms": child.working_ms}
        tx.update(delegations, {"call_id": delegation.call_id}, **now)
    _set_look(tx, delegation, limit - worked)
    return None


def _set_look(tx: Tx, delegation: Delegation, left_ms: int) -> None:
    due = tx.now + max(SOONEST_LOOK_MS, min(left_ms, (delegation.timeout_ms or left_ms) // 4))
    set_timer(tx, "delegation", delegation.call_id, delegation.parent_run, due)


def blocked_reason(tx: Tx, child: Run) -> str | None:
    """Why a run cannot begin for now: another one before it waits for a person."""
    if child.status != "queued" or child.ready or child.lane is None:
        return None
    ahead = select(runs.c.id).where(
        runs.c.lane == child.lane, runs.c.seq < child.seq, runs.c.status == "waiting"
    )
    held = select(approvals.c.id).where(
        approvals.c.run_id.in_(ahead), approvals.c.status == "pending", approvals.c.parked == 0
    )
    row = tx.one(held.order_by(approvals.c.requested_at).limit(1))
    return f"It stands behind a run that waits for approval {short(row.id)}." if row else None
