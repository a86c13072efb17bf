"""Canvases: what agents show beside their answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import Revoked
from colleague.sessions.messages import find_key
from colleague.store.canvases import canvas_document, canvas_documents, find_canvas
from colleague.store.tx import Tx

router = APIRouter(prefix="/api/canvases", tags=["canvases"])


class CanvasSummary(BaseModel):
    """`version` is the newest."""

    id: str
    agent_id: str
    session_key: str
    title: str
    kind: str
    version: int
    created_at: str
    updated_at: str


class CanvasDocument(CanvasSummary):
    """`content` is {text}, {columns, rows} or {type, labels, series}, as `kind` says."""

    shown_version: int
    run_id: str
    content: dict[str, Any]


@router.get("", response_model=list[CanvasSummary], responses=with_token(404))
async def list_canvases(
    gateway: GatewayDep,
    session: Annotated[str | None, Query(max_length=512, description="A key or label")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[dict[str, Any]]:
    """The newest first, without what they show."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        key = str(find_key(tx, session)) if session else None
        return canvas_documents(tx, session_key=key, limit=limit)

    return await gateway.database.read(work)


@router.get("/{id}", response_model=CanvasDocument, responses=with_token(404))
async def show(
    id: str,  # noqa: A002 - contract
    gateway: GatewayDep,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> dict[str, Any]:
    """One canvas with its content as JSON. HTML in it was written by a model: it is data, not a page."""
    return await gateway.database.read(lambda tx: canvas_document(tx, id, version))


@router.delete("/{id}", response_model=Revoked, responses=with_token(404))
async def remove(id: str, gateway: GatewayDep) -> Revoked:  # noqa: A002 - contract
    """With all of its versions."""
    whole = await gateway.database.read(lambda tx: find_canvas(tx, id).id)
    await gateway.service.remove_canvas(whole)
    return Revoked(id=whole)
