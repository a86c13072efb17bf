"""Dead letters: runs that failed for good and wait for a person."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.gateway.documents import RetryAsked, RunBrief, RunStarted
from colleague.gateway.gateway import Here
from colleague.gateway.openapi import with_token
from colleague.store.lookup import full_id
from colleague.store.overview import dead_letters
from colleague.store.report import brief_document
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(prefix="/api/deadletters", tags=["dead letters"])


@router.get("", response_model=list[RunBrief], responses=with_token())
async def list_dead_letters(here: Here) -> list[dict[str, Any]]:
    """The oldest first: they have waited longest."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        return [brief_document(run) for run in dead_letters(tx)]

    return await here.database.read(work)


@router.post("/{id}/retry", status_code=202, response_model=RunStarted, responses=with_token(404, 409))
async def retry(id: str, here: Here, asked: RetryAsked | None = None) -> RunStarted:  # noqa: A002 - contract
    """Try again: the same run goes on, with the package that is installed now."""
    return RunStarted(run_id=await here.operator.retry(id, (asked or RetryAsked()).inputs))


@router.post("/{id}/drop", response_model=RunStarted, responses=with_token(404, 409))
async def drop(id: str, here: Here) -> RunStarted:  # noqa: A002 - contract
    """Let it be: it stays in the history as abandoned."""
    run_id = await here.database.read(lambda tx: full_id(tx, runs, "run", id))
    await here.operator.drop(run_id, "api")
    return RunStarted(run_id=run_id)
