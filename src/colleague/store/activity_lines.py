"""What the store tells whoever runs this process, once it is committed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from colleague import activity
from colleague.store.ids import short

if TYPE_CHECKING:
    from colleague.store.accept import Accepted, Arrival
    from colleague.store.approvals import Approval
    from colleague.store.outbox import OutboxMessage
    from colleague.store.run import Outcome, Run
    from colleague.store.tx import Tx

QUESTIONS = ("approval", "draft", "learning", "proposal")
"""Notices about questions, which have a line of their own already."""


def _after(tx: Tx, kind: str, text: str, level: int = logging.INFO, /, **fields: Any) -> None:
    tx.after_commit(lambda: activity.tell(kind, text, level=level, **fields))


def tell_accepted(tx: Tx, arrival: Arrival, accepted: Accepted) -> None:
    if not activity.is_on():
        return
    paused = arrival.held and arrival.session_key  # what is looked up first has no session, and no pause
    what = "came again" if accepted.duplicate else "is held" if paused else "accepted"
    source = f"{arrival.expert}/{arrival.trigger}" if arrival.trigger != arrival.source else arrival.expert
    run = f", run {short(accepted.run_id)}" if accepted.run_id else ""
    text = f"event {short(accepted.event_id)} {what}: {source} ({arrival.source}){run}"
    fields = {"event": accepted.event_id, "run": accepted.run_id, "expert": arrival.expert}
    _after(tx, f"event {what}", text, **fields, trigger=arrival.trigger, source=arrival.source)


def tell_taken(tx: Tx, run: Run) -> None:
    if not activity.is_on():
        return
    word = "started" if run.epoch == 1 else "goes on"
    process = f" ({run.process})" if run.process else ""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    text = f"run {short(run.id)} of {run.expert}{process} {word}{attempt}"
    _after(tx, f"run {word}", text, **_of(run), attempt=run.attempt)


def tell_ended(tx: Tx, run: Run, outcome: Outcome, error: str | None) -> None:
    if not activity.is_on():
        return
    seconds = max(0, tx.now - (run.started_at or tx.now)) // 1000
    why = f": {error}" if error else ""
    cure = f" (colleague deadletter show {short(run.id)})" if outcome == "dead_letter" else ""
    text = f"run {short(run.id)} of {run.expert} {outcome} after {_length(seconds)}{why}{cure}"
    level = logging.WARNING if outcome in ("failed", "dead_letter") else logging.INFO
    fields = {"outcome": outcome, "seconds": seconds, "error": error}
    _after(tx, f"run {outcome}", text, level, **_of(run), **fields)


def tell_retry(tx: Tx, run: Run, error: str, delay_ms: int) -> None:
    if not activity.is_on():
        return
    head = f"run {short(run.id)} of {run.expert}: attempt {run.attempt} failed"
    text = f"{head}; the next begins in {_length(delay_ms // 1000)}: {error}"
    fields = {"attempt": run.attempt, "error": error, "in_ms": delay_ms}
    _after(tx, "attempt failed", text, logging.WARNING, **_of(run), **fields)


def tell_asked(tx: Tx, run: Run, approval_id: str, kind: str, operation: str) -> None:
    if not activity.is_on():
        return
    text = f"{kind} {short(approval_id)} asked by run {short(run.id)} of {run.expert}: {operation}"
    _after(tx, "question asked", text, **_of(run), approval=approval_id, operation=operation)


def tell_decided(tx: Tx, approval: Approval, decision: str, by: str) -> None:
    if not activity.is_on():
        return
    head = f"{approval.kind} {short(approval.id)} of run {short(approval.run_id)} ({approval.expert})"
    fields = {"approval": approval.id, "run": approval.run_id, "expert": approval.expert}
    text = f"{head}: {decision.replace('_', ' ')} by {by}"
    _after(tx, "question decided", text, **fields, decision=decision, by=by)


def tell_delivered(message: OutboxMessage) -> None:
    """For a message that is sent and recorded."""
    if activity.is_on() and message.kind not in QUESTIONS:
        text = f"{message.kind} of run {short(message.run_id)} delivered to {message.channel}"
        activity.tell("delivered", text, run=message.run_id, what=message.kind, channel=message.channel)


def tell_unread(message: OutboxMessage) -> None:
    """For a message that nobody has been told of yet."""
    if activity.is_on() and message.kind not in QUESTIONS:
        text = f"{message.kind} of run {short(message.run_id)} waits to be read: colleague delivery list"
        activity.tell("unread", text, run=message.run_id, what=message.kind, channel=message.channel)


def tell_read(tx: Tx, message: OutboxMessage, by: str) -> None:
    """Whoever waited for a run has its result, also before anybody was told that it waits to be read."""
    if activity.is_on() and message.kind not in QUESTIONS:
        text = f"{message.kind} of run {short(message.run_id)} was read by {by}"
        _after(tx, "read", text, run=message.run_id, what=message.kind, by=by)


def _of(run: Run) -> dict[str, Any]:
    return {"run": run.id, "expert": run.expert}


def _length(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
