"""Events: what became of something that was accepted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.errors import NotFound
from colleague.experts.reporting import run_report
from colleague.gateway.documents import EventDocument
from colleague.gateway.gateway import Here
from colleague.gateway.openapi import with_token
from colleague.home import Home
from colleague.store.accept import Event
from colleague.store.lookup import full_id
from colleague.store.report import brief_document, iso
from colleague.store.run import get_run
from colleague.store.tables import events
from colleague.store.tx import Tx

router = APIRouter(prefix="/api", tags=["events"])


@router.get("/events/{id}", response_model=EventDocument, responses=with_token(404))
async def show(id: str, here: Here) -> dict[str, Any]:  # noqa: A002 - as the contract calls it
    """Accepted, run, delivered: three facts, kept apart."""
    return await here.database.read(lambda tx: event_document(tx, here.home, id))


def event_document(tx: Tx, home: Home, ending: str) -> dict[str, Any]:
    [event] = tx.find(Event, events, {"id": full_id(tx, events, "event", ending)})
    run, delivery = _run(tx, home, event)
    return {
        "id": event.id,
        "expert": event.expert,
        "trigger": event.trigger_name,
        "source": event.source,
        "status": run["status"] if run else _status(event),
        "accepted": {"at": iso(event.received_at), "duplicates": event.duplicates, "held": bool(event.held)},
        "run": run,
        "delivery": delivery,
        "outcome": run["outcome"] if run else event.outcome,
        "reason": event.reason,
        "warning": event.warning,
    }


def _run(tx: Tx, home: Home, event: Event) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    if event.run_id is None:
        return None, None
    try:
        brief = brief_document(get_run(tx, event.run_id))
    except NotFound:
        return None, None
    return brief, run_report(tx, home, event.run_id)["delivery"]


def _status(event: Event) -> str:
    """Of an event without a run."""
    if event.held:
        return "held"
    if event.outcome is None:
        return "resolving"
    return "skipped" if event.outcome == "skipped" else "resolved"
