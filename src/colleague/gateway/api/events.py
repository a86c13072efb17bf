"""Events: what became of something that was accepted."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.run_document import MessageDocument, RunBrief

router = APIRouter(prefix="/api", tags=["events"])


class Acceptance(BaseModel):
    """When it was accepted, how often the same was sent again, and whether a pause holds it."""

    at: str
    duplicates: int
    held: bool


class EventDocument(BaseModel):
    """Accepted, run and delivered are three facts."""

    id: str
    expert: str
    trigger: str
    source: str
    status: Literal[
        "held", "resolving", "skipped", "resolved", "queued", "running", "waiting", "retrying", "done"
    ]
    accepted: Acceptance
    run: RunBrief | None
    delivery: MessageDocument | None
    outcome: str | None
    reason: str | None
    warning: str | None


@router.get("/events/{id}", response_model=EventDocument, responses=with_token(404))
async def show(id: str, gateway: GatewayDep) -> dict[str, Any]:  # noqa: A002 - as the contract calls it
    """Accepted, run, delivered: three facts, kept apart."""
    return await gateway.service.event(id)
