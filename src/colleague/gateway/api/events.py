"""Events: what became of something that was accepted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.experts.runs.redacted_report import event_report
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import EventDocument
from colleague.store.lookup import full_id
from colleague.store.tables import events

router = APIRouter(prefix="/api", tags=["events"])


@router.get("/events/{id}", response_model=EventDocument, responses=with_token(404))
async def show(id: str, here: GatewayDep) -> dict[str, Any]:  # noqa: A002 - as the contract calls it
    """Accepted, run, delivered: three facts, kept apart."""
    return await here.database.read(lambda tx: event_report(tx, here.home, full_id(tx, events, "event", id)))
