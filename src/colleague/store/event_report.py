"""What happened to an event: accepted, run and delivered, as three facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.clock import iso
from colleague.errors import NotFound
from colleague.run_document import MessageDocument
from colleague.store.accept import Event
from colleague.store.chat_answers import ANSWER, result_message
from colleague.store.inbox import is_waiting
from colleague.store.outbox import outbox_of
from colleague.store.paging import Order, Page
from colleague.store.record import columns_of, record
from colleague.store.report import brief_document, outbox_document, runs_ahead
from colleague.store.run import Run
from colleague.store.sql import func, select
from colleague.store.tables import events, runs, sql_literal
from colleague.store.tx import Tx


def get_event(tx: Tx, event_id: str) -> Event:
    found = tx.find(Event, events, {"id": event_id})
    if not found:
        raise NotFound(f"there is no event {event_id!r}")
    return found[0]


def event_document(tx: Tx, event_id: str) -> dict[str, Any]:
    """Accepted, run and delivered: three facts, kept apart."""
    event = get_event(tx, event_id)
    run = _run_of(tx, event)
    return {
        "id": event.id,
        "expert": event.expert,
        "trigger": event.trigger_name,
        "source": event.source,
        "status": run.status if run else _status(tx, event),
        "accepted": {"at": iso(event.received_at), "duplicates": event.duplicates, "held": event.held},
        "run": _run(tx, run) if run else None,
        "delivery": _delivery(tx, run) if run else None,
        "outcome": run.outcome if run else event.outcome,
        "reason": event.reason,
        "warning": event.warning,
    }


def _run_of(tx: Tx, event: Event) -> Run | None:
    found = tx.find(Run, runs, {"id": event.run_id}) if event.run_id else []
    return found[0] if found else None


def _status(tx: Tx, event: Event) -> str:
    """Of an event without a run."""
    if event.held:
        return "held"
    if event.outcome is None:
        return "queued" if is_waiting(tx, event.id) else "resolving"
    return "skipped" if event.outcome == "skipped" else "resolved"


def _run(tx: Tx, run: Run) -> dict[str, Any]:
    return {**brief_document(run), "behind": runs_ahead(tx, run), "retry_at": iso(run.retry_at)}


def _delivery(tx: Tx, run: Run) -> MessageDocument | None:
    found = [each for each in outbox_of(tx, run.id) if each.kind in ("delivery", "escalation", ANSWER)]
    message = result_message(found)
    return outbox_document(message) if message else None


@dataclass(frozen=True)
class SkippedEvents:
    """Events of one trigger that were skipped lately for one reason."""

    expert: str
    trigger: str
    reason: str
    count: int
    last_at: int


LATELY_MS = 86_400_000
REPEATED = "duplicate found after acceptance"
"""The beginning of a reason: nothing is lost by such an event, so nobody needs to look."""


def skipped_lately(tx: Tx, limit: int = 20) -> list[SkippedEvents]:
    """What was skipped in the last day and why, the latest first."""
    columns = (events.c.expert, events.c.trigger_name, func.coalesce(events.c.reason, ""))
    last = func.max(events.c.received_at)
    query = (
        select(*columns, func.count(), last)
        .where(
            events.c.outcome == sql_literal("skipped"),
            events.c.received_at > tx.now - LATELY_MS,
            ~func.coalesce(events.c.reason, "").startswith(REPEATED),
        )
        .group_by(*columns)
        .order_by(last.desc())
        .limit(limit)
    )
    rows: Any = tx.all(query)
    return [SkippedEvents(*row) for row in rows]


def unresolved(tx: Tx, limit: int = 20) -> list[Event]:
    """What was accepted and could not be looked up so far, the oldest first; `reason` says why."""
    still_open = (events.c.run_id.is_(None), events.c.outcome.is_(None), events.c.held == 0)
    query = select(*columns_of(Event, events)).where(*still_open, events.c.reason.is_not(None))
    return [record(Event, row) for row in tx.all(query.order_by(events.c.id).limit(limit))]


def events_page(tx: Tx, *, limit: int, after: str | None = None, expert: str = "") -> Page[dict[str, Any]]:
    """The newest first; of one expert, or of all."""
    query = select(*columns_of(Event, events))
    if expert:
        query = query.where(events.c.expert == expert)
    page = Order(events, (), descending=True).page(tx, query, limit=limit, after=after)
    return Page([_brief(tx, record(Event, row)) for row in page.items], page.next_after)


def _brief(tx: Tx, event: Event) -> dict[str, Any]:
    run = _run_of(tx, event)
    return {
        "id": event.id,
        "expert": event.expert,
        "trigger": event.trigger_name,
        "at": iso(event.received_at),
        "run_id": event.run_id,
        "state": (run.outcome or run.status) if run else _status(tx, event),
        "reason": event.reason,
        "warning": event.warning,
    }
