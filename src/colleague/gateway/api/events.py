"""Events: what became of something that was accepted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import EventDocument

router = APIRouter(prefix="/api", tags=["events"])


@router.get("/events/{id}", response_model=EventDocument, responses=with_token(404))
async def show(id: str, here: GatewayDep) -> dict[str, Any]:  # noqa: A002 - as the contract calls it
    """Accepted, run, delivered: three facts, kept apart."""
    return await here.service.event(id)
