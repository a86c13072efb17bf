"""The audit log: what people decided and changed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from colleague.audit_document import AuditPage
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageSize
from colleague.runtime.requests import AuditQuery

router = APIRouter(prefix="/api/audit", tags=["audit"])

FilterText = Annotated[str, Query(max_length=200)]


@router.get("", response_model=AuditPage, responses=with_token(404))
async def list_entries(
    gateway: GatewayDep,
    who: FilterText = "",
    action: Annotated[str, Query(max_length=200, description="noun.verb, or a noun for all of it")] = "",
    expert: FilterText = "",
    text: FilterText = "",
    since: Annotated[str, Query(max_length=200, description="2h, 2026-11-16, an ISO time")] = "",
    until: FilterText = "",
    limit: PageSize = 100,
    after: FilterText = "",
) -> AuditPage:
    """The newest first; `next_after` is the id to go on after."""
    return await gateway.service.audit(AuditQuery(who, action, expert, text, since, until, limit, after))
