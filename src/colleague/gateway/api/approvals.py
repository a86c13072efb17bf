"""Approvals: what waits for a person, and deciding it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from colleague.errors import ColleagueError, UsageError
from colleague.experts.runs.report import approval_report
from colleague.gateway.api_error import ApiError, refusal_of
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, PageSize, link_next
from colleague.gateway.schemas import (
    ApprovalDocument,
    BatchAnswer,
    BatchAsked,
    BatchItem,
    DecisionAsked,
    Error,
)
from colleague.runtime.service import Verdict
from colleague.store.approvals import (
    AlreadyDecided,
    Approval,
    approvals_page,
    count_approvals,
    get_approval,
)
from colleague.store.lookup import full_id
from colleague.store.paging import Page
from colleague.store.report import iso
from colleague.store.tables import approvals
from colleague.store.tx import Tx

router = APIRouter(prefix="/api", tags=["approvals"])

WHO = "api"


@router.get("/approvals", response_model=list[ApprovalDocument], responses=with_token(404))
async def list_approvals(
    here: GatewayDep,
    request: Request,
    response: Response,
    status: Annotated[Literal["pending", "all"], Query()] = "pending",
    limit: PageSize = 200,
    after: PageAfter = None,
) -> list[dict[str, Any]]:
    """The pending ones, the oldest first; or all, the newest first.

    X-Total-Count says how many there are; the header Link has the next page, if there is one."""
    every = status == "all"

    def work(tx: Tx) -> Page[dict[str, Any]]:
        start = None if after is None else full_id(tx, approvals, "approval", after)
        response.headers["X-Total-Count"] = str(count_approvals(tx, every=every))
        page = approvals_page(tx, every=every, limit=limit, after=start)
        return Page([approval_report(tx, here.home, each) for each in page.items], page.next_after)

    page = await here.database.read(work)
    link_next(request, response, page)
    return page.items


@router.get("/approvals/{id}", response_model=ApprovalDocument, responses=with_token(404))
async def show(id: str, here: GatewayDep) -> dict[str, Any]:  # noqa: A002 - as the contract calls it
    return await here.database.read(
        lambda tx: approval_report(tx, here.home, get_approval(tx, full_id(tx, approvals, "approval", id)))
    )


@router.post("/approvals/{id}", response_model=ApprovalDocument, responses=with_token(404, 409))
async def decide(id: str, asked: DecisionAsked, here: GatewayDep) -> dict[str, Any]:  # noqa: A002
    """Decide one. `digest` is of what was seen; the first decision wins."""
    return await _decide(here, id, asked)


@router.post("/approvals", response_model=BatchAnswer, responses=with_token())
async def decide_many(asked: BatchAsked, here: GatewayDep) -> BatchAnswer:
    """Decide several; each is answered by itself, and one that does not count disturbs no other."""
    return BatchAnswer(decisions=[await _item(here, each.id, each) for each in asked.decisions])


async def _item(here: Gateway, ending: str, asked: DecisionAsked) -> BatchItem:
    try:
        approval = await _decide(here, ending, asked)
    except (ApiError, ColleagueError) as error:
        refusal = error if isinstance(error, ApiError) else refusal_of(error)
        return BatchItem(id=ending, ok=False, error=Error(**refusal.document["error"]))
    return BatchItem(id=ending, ok=True, approval=ApprovalDocument(**approval))


async def _decide(here: Gateway, ending: str, asked: DecisionAsked) -> dict[str, Any]:
    answer = _answer(asked)
    by = asked.by.strip() or WHO
    grant = (asked.grant_ms, tuple(asked.grant_only))
    verdict = Verdict(ending, asked.decision, by, asked.digest, asked.note, answer, *grant)
    try:
        [decided] = await here.service.decide([verdict])
    except AlreadyDecided as error:
        raise await _already(here, ending, error) from None
    here.services.wake_sender()
    here.streams.tell(
        decided.run_id, "approval_decided", approval_id=decided.id, decision=decided.decision, by=by
    )
    return await here.database.read(lambda tx: approval_report(tx, here.home, decided))


def _answer(asked: DecisionAsked) -> str | None:
    """Edited arguments go with a yes; a result says what came of it, or answers in the tool's place."""
    if asked.arguments is not None:
        if asked.decision != "approve":
            raise UsageError("arguments can only be changed with approve", hint="leave them out")
        return json.dumps(asked.arguments, ensure_ascii=False)
    if asked.decision == "respond" and asked.result is None:
        if not asked.note:
            raise UsageError("respond needs an answer", hint="put it into result or note")
        return json.dumps(asked.note, ensure_ascii=False)
    return None if asked.result is None else json.dumps(asked.result, ensure_ascii=False)


async def _already(here: Gateway, ending: str, error: AlreadyDecided) -> ApiError:
    def work(tx: Tx) -> Approval:
        return get_approval(tx, full_id(tx, approvals, "approval", ending))

    found = await here.database.read(work)
    refusal = refusal_of(error)
    more = {
        "status": found.status,
        "decision": found.decision,
        "decided_by": found.decided_by,
        "decided_at": iso(found.decided_at),
    }
    return ApiError(refusal.status, refusal.code, refusal.message, more={**refusal.more, **more})
