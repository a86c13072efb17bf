"""Dead letters: runs that failed for good and wait for a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, PageSize, link_next
from colleague.gateway.schemas import RequestBody, RetryAsked, RunStarted
from colleague.run_document import RunBrief
from colleague.store.lookup import full_id
from colleague.store.overview import count_dead_letters, dead_letters
from colleague.store.paging import Page
from colleague.store.report import brief_document
from colleague.store.run import Run
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(prefix="/api/deadletters", tags=["dead letters"])


class DropAsked(RequestBody):
    by: Annotated[str, Field(max_length=200)] = ""


@router.get("", response_model=list[RunBrief], responses=with_token(404))
async def list_dead_letters(
    gateway: GatewayDep, request: Request, response: Response, limit: PageSize = 200, after: PageAfter = None
) -> list[RunBrief]:
    """The oldest first: they have waited longest. The header Link has the next page, if there is one."""

    def work(tx: Tx) -> Page[Run]:
        start = None if after is None else full_id(tx, runs, "run", after)
        response.headers["X-Total-Count"] = str(count_dead_letters(tx))
        return dead_letters(tx, limit=limit, after=start)

    page = await gateway.database.read(work)
    link_next(request, response, page)
    return [brief_document(run) for run in page.items]


@router.post("/{id}/retry", status_code=202, response_model=RunStarted, responses=with_token(404, 409))
async def retry(id: str, gateway: GatewayDep, asked: RetryAsked | None = None) -> RunStarted:  # noqa: A002 - contract
    """Try again: the same run goes on, with the package that is installed now."""
    return RunStarted(run_id=await gateway.service.retry(id, (asked or RetryAsked()).inputs))


@router.post("/{id}/drop", response_model=RunStarted, responses=with_token(404, 409))
async def drop(id: str, gateway: GatewayDep, asked: DropAsked | None = None) -> RunStarted:  # noqa: A002 - contract
    """Let it be: it stays in the history as abandoned."""
    run_id = await gateway.database.read(lambda tx: full_id(tx, runs, "run", id))
    await gateway.service.drop(run_id, (asked or DropAsked()).by.strip() or "api")
    return RunStarted(run_id=run_id)
