"""Telling a session what came of work that it handed over: once, whatever crashes in between.

The parent's part and *sent* are one transaction, in which the lane of the parent's session is locked."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from colleague.errors import DatabaseUnavailable
from colleague.failpoints import failpoint
from colleague.silent_answer import shown_answer
from colleague.store.accept import accept
from colleague.store.approvals import can_go_on
from colleague.store.cascade import remove_session, stop_child
from colleague.store.claims import wake_run
from colleague.store.delegations import (
    GOES_ON,
    OPEN,
    Delegation,
    detach,
    end_call,
    get_delegation,
    look_again,
)
from colleague.store.ids import short
from colleague.store.inbox import turn_arrival
from colleague.store.journal import get_call
from colleague.store.lanes import lock_lane
from colleague.store.outbox import (
    ANNOUNCEMENT,
    CHILD_STOP,
    OutboxMessage,
    is_sent,
    not_sent,
    sent,
    waiting_announcements,
)
from colleague.store.run import Run, lock_run_row
from colleague.store.session_entry import open_session
from colleague.store.session_items import NewItem, add_item
from colleague.store.tables import delegations, runs
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)

AGAIN_MS = 5_000
TIMEOUT_MS = 120_000
SOURCE = "session:"
"""How the source of a result begins; the key of the child's session follows."""


@dataclass(frozen=True)
class ChildResult:
    """What a child came to, as its parent is told."""

    text: str
    is_error: bool = False


async def announce_all(database: Database, *, timeout_ms: int = TIMEOUT_MS) -> int:
    """Everything that sessions are to be told; returns how much it was."""
    return await announce_each(database, await database.read(waiting_announcements), timeout_ms=timeout_ms)


async def announce_each(
    database: Database, messages: Iterable[OutboxMessage], *, timeout_ms: int = TIMEOUT_MS
) -> int:
    """Returns how much was told. What fails, or takes longer than it may, is tried again later."""
    done = 0
    for message in messages:
        failpoint("announce")
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                done += await database.write(lambda tx, message=message: announce(tx, message))  # type: ignore[misc]
        except DatabaseUnavailable:
            raise
        except Exception as error:
            log.exception("what came of call %s could not be told", message.subject)
            await database.write(
                lambda tx, message=message, why=str(error): not_sent(  # type: ignore[misc]
                    tx, message.id, why, again_in_ms=AGAIN_MS
                )
            )
    return done


def announce(tx: Tx, message: OutboxMessage) -> bool:
    """Ends the call that waits, or begins a turn with the result. False when it was told already."""
    if message.kind == CHILD_STOP:
        return stop_child(tx, message)
    delegation = get_delegation(tx, message.subject)
    if delegation is not None:
        lock_lane(tx, delegation.parent_session)
        delegation = get_delegation(tx, message.subject)
    if is_sent(tx, message.id):
        return False
    if delegation is not None and delegation.status in OPEN:
        if message.kind == ANNOUNCEMENT:
            _tell_result(tx, delegation)
        elif delegation.status == "waiting":
            _wake_after(tx, delegation, lambda: detach(tx, delegation, _question_text(delegation, message)))
    if delegation is not None and message.kind == ANNOUNCEMENT and delegation.cleanup == "delete":
        remove_session(tx, delegation.child_session)
    sent(tx, message.id)
    return True


def _question_text(delegation: Delegation, message: OutboxMessage) -> str:
    asked = ", ".join(f"{short(each['id'])} ({each['operation']})" for each in json.loads(message.body))
    return f"{delegation.child_session} waits for a person: approval {asked}. {GOES_ON}"


def _tell_result(tx: Tx, delegation: Delegation) -> None:
    result = result_of(tx, delegation)
    source = f"{SOURCE}{delegation.child_session}"
    call = get_call(tx, delegation.call_id)
    turn = None
    if delegation.status == "waiting" and call is not None and call.result is None:
        _wake_after(
            tx,
            delegation,
            lambda: end_call(tx, delegation.call_id, result.text, source, is_error=result.is_error),
        )
    else:
        turn = _begin_turn(tx, delegation, NewItem("event", result.text, source=source))
    tx.update(delegations, {"call_id": delegation.call_id}, status="told", turn_run=turn)


def _wake_after(tx: Tx, delegation: Delegation, end: Callable[[], None]) -> None:
    """Ends the call of the parent's locked run, which goes on when nothing else holds it."""
    run = lock_run_row(tx, delegation.parent_run)
    end()
    if run.status == "waiting" and can_go_on(tx, run.id):
        wake_run(tx, run)


def result_of(tx: Tx, delegation: Delegation) -> ChildResult:
    """What the child's run ended with: its words, the outputs it owed, or why it failed."""
    found = tx.find(Run, runs, {"id": delegation.child_run}) if delegation.child_run else []
    if not found:
        return ChildResult(f"It was not run: {delegation.failure or 'nothing is known of it any more'}", True)
    child = found[0]
    if child.outcome != "completed":
        why = f": {child.error}" if child.error else ""
        return ChildResult(f"It ended without a result: {child.outcome}{why}", True)
    parts = [shown_answer(child.narrative or "").text, f"Outputs: {child.outputs}" if child.outputs else ""]
    return ChildResult("\n\n".join(part for part in parts if part) or "It is done, without a word.")


def _begin_turn(tx: Tx, delegation: Delegation, item: NewItem) -> str | None:
    """The conversation went on meanwhile, so the result is a turn of its own. The lane is locked."""
    found = tx.find(Run, runs, {"id": delegation.parent_run})
    if not found:
        return None
    key = delegation.parent_session
    entry = open_session(tx, key, key.split(":")[1])
    arrival = turn_arrival(found[0], "session", {"delegation": delegation.call_id})
    accepted = accept(tx, replace(arrival, transcript=entry.id))
    add_item(tx, key, replace(item, run_id=accepted.run_id, event_id=accepted.event_id))
    return accepted.run_id


def look_at_child(tx: Tx, run: Run, call_id: str) -> None:
    """The timer of a call is due; its run is locked with its lane."""
    delegation = get_delegation(tx, call_id)
    if delegation is None or delegation.status != "waiting":
        return
    reason = look_again(tx, delegation)
    if reason is None:
        return
    detach(tx, delegation, f"{reason} {GOES_ON}")
    if run.status == "waiting" and can_go_on(tx, run.id):
        wake_run(tx, run)
