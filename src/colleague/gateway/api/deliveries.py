"""Deliveries: what runs told people, and whether anybody has read it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from colleague.experts.runs.redacted_report import outbox_report
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, PageSize, link_next
from colleague.gateway.schemas import Changed, RequestBody
from colleague.run_document import MessageDocument
from colleague.store.lookup import full_id
from colleague.store.outbox import count_deliveries, deliveries_page, get_delivery
from colleague.store.overview import count_unread
from colleague.store.paging import Page
from colleague.store.tables import outbox
from colleague.store.tx import Tx

router = APIRouter(prefix="/api/deliveries", tags=["deliveries"])


class DeliveryDocument(BaseModel):
    """`status` is `delivered` when somebody got it, `waiting` until then; `error` says what it waits for."""

    model_config = ConfigDict(extra="allow")

    id: str
    kind: str
    run_id: str
    status: Literal["waiting", "sending", "failed", "delivered"]
    channel: str
    at: str | None
    read_by: str | None
    error: str | None
    body: dict[str, Any]


class ReadAsked(RequestBody):
    by: Annotated[str, Field(max_length=200)] = ""


@router.get("", response_model=list[DeliveryDocument], responses=with_token(404))
async def list_deliveries(
    gateway: GatewayDep,
    request: Request,
    response: Response,
    all: bool = False,  # noqa: A002 - as it stands in the address
    limit: PageSize = 200,
    after: PageAfter = None,
) -> list[MessageDocument]:
    """What nobody has read, the oldest first; with `all` everything, the newest first."""

    def work(tx: Tx) -> Page[MessageDocument]:
        start = None if after is None else full_id(tx, outbox, "delivery", after)
        response.headers["X-Total-Count"] = str(count_deliveries(tx) if all else count_unread(tx))
        page = deliveries_page(tx, unread=not all, limit=limit, after=start)
        return Page([outbox_report(tx, gateway.home, each) for each in page.items], page.next_after)

    page = await gateway.database.read(work)
    link_next(request, response, page)
    return page.items


@router.get("/{id}", response_model=DeliveryDocument, responses=with_token(404))
async def show(id: str, gateway: GatewayDep) -> MessageDocument:  # noqa: A002 - as the contract calls it
    """One of them. Looking does not make it read."""

    def work(tx: Tx) -> MessageDocument:
        return outbox_report(tx, gateway.home, get_delivery(tx, full_id(tx, outbox, "delivery", id)))

    return await gateway.database.read(work)


@router.post("/{id}/read", response_model=Changed, responses=with_token(404))
async def read(id: str, gateway: GatewayDep, asked: ReadAsked | None = None) -> Changed:  # noqa: A002 - contract
    """Somebody has read it, so it is delivered. `changed` is false when it was before."""
    return Changed(changed=await gateway.service.read(id, (asked or ReadAsked()).by or "api"))
