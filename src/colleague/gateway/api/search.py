"""Search: where something was said."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.session_document import HitDocument

router = APIRouter(prefix="/api", tags=["sessions"])


@router.get("/search", response_model=list[HitDocument], responses=with_token(404))
async def search(
    gateway: GatewayDep,
    q: Annotated[str, Query(max_length=1000, description="Words, each as the beginning of a word")],
    session: Annotated[str | None, Query(max_length=512, description="A key or label")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[HitDocument]:
    """Where all of these words were said, the newest first; archives are searched, too."""
    return await gateway.service.search(q, session=session, limit=limit)
