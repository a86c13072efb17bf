"""How the last days went, in numbers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.overview_document import DecisionBrief, OverviewDocument

router = APIRouter(prefix="/api/overview", tags=["overview"])

Days = Annotated[int, Query(ge=1, le=31)]
Seconds = Annotated[int | None, Query(ge=0, le=10**9)]


@router.get("", response_model=OverviewDocument, responses=with_token())
async def overview(gateway: GatewayDep, days: Days = 7) -> OverviewDocument:
    """Runs by outcome, time to decision, spend per expert and day, queue now, failures by cause."""
    return await gateway.service.overview(days)


@router.get("/decisions", response_model=list[DecisionBrief], responses=with_token())
async def decisions(
    gateway: GatewayDep, days: Days = 7, from_seconds: Seconds = None, to_seconds: Seconds = None
) -> list[DecisionBrief]:
    """Decisions for which people took so long; the latest first, 200 at most."""
    return await gateway.service.decisions(days, from_seconds or 0, to_seconds)
