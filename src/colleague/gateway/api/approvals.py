"""Approvals: what waits for a person, and deciding it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from colleague.errors import UsageError
from colleague.experts.runs.redacted_report import approval_report
from colleague.gateway.api_error import ApiError, status_of
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, PageSize, link_next
from colleague.gateway.schemas import DecisionAsked, Error, RequestBody
from colleague.person_document import ApprovalLink
from colleague.run_document import ApprovalDocument
from colleague.runtime.requests import DecisionAnswer, DecisionRequest, Refusal
from colleague.store.approvals import approvals_page, count_approvals
from colleague.store.lookup import full_id
from colleague.store.paging import Page
from colleague.store.tables import approvals
from colleague.store.tx import Tx

router = APIRouter(prefix="/api", tags=["approvals"])

WHO = "api"


class DecisionInBatch(DecisionAsked):
    id: Annotated[str, Field(min_length=1, max_length=100)]


class BatchAsked(RequestBody):
    decisions: Annotated[list[DecisionInBatch], Field(min_length=1, max_length=200)]


class GrantGiven(BaseModel):
    """A grant that came with a decision; `covers` says it in a sentence."""

    id: str
    covers: str


class BatchItem(BaseModel):
    """What came of one decision: the approval as it is now, or why it does not count."""

    id: str
    ok: bool
    approval: ApprovalDocument | None = None
    grant: GrantGiven | None = None
    error: Error | None = None


class BatchAnswer(BaseModel):
    decisions: list[BatchItem]


class LinkAsked(RequestBody):
    """In whose name the question is decided, and for how long the link counts."""

    person: Annotated[str, Field(min_length=1, max_length=64)]
    lasts_ms: Annotated[int, Field(ge=60_000, le=30 * 86_400_000)] = 86_400_000


@router.get("/approvals", response_model=list[ApprovalDocument], responses=with_token(404))
async def list_approvals(
    gateway: GatewayDep,
    request: Request,
    response: Response,
    status: Annotated[Literal["pending", "all"], Query()] = "pending",
    limit: PageSize = 200,
    after: PageAfter = None,
) -> list[ApprovalDocument]:
    """The pending ones, the oldest first; or all, the newest first.

    X-Total-Count says how many there are; the header Link has the next page, if there is one."""
    every = status == "all"

    def work(tx: Tx) -> Page[ApprovalDocument]:
        start = None if after is None else full_id(tx, approvals, "approval", after)
        response.headers["X-Total-Count"] = str(count_approvals(tx, every=every))
        page = approvals_page(tx, every=every, limit=limit, after=start)
        return Page([approval_report(tx, gateway.home, each) for each in page.items], page.next_after)

    page = await gateway.database.read(work)
    link_next(request, response, page)
    return page.items


@router.get("/approvals/{id}", response_model=ApprovalDocument, responses=with_token(404))
async def show(id: str, gateway: GatewayDep) -> ApprovalDocument:  # noqa: A002 - as the contract calls it
    return await gateway.service.approval(id)


@router.post("/approvals/{id}", response_model=ApprovalDocument, responses=with_token(404, 409))
async def decide(id: str, asked: DecisionAsked, gateway: GatewayDep) -> ApprovalDocument:  # noqa: A002
    """Decide one. `digest` is of what was seen; the first decision wins."""
    answer = await decide_in(gateway, id, asked)
    if answer.refusal is not None:
        raise _api_error(answer.refusal, answer.approval)
    return cast(ApprovalDocument, answer.approval)


@router.post("/approvals/{id}/link", response_model=ApprovalLink, responses=with_token(404))
async def link(id: str, asked: LinkAsked, gateway: GatewayDep) -> ApprovalLink:  # noqa: A002
    """A link that decides this question, once, for somebody who is not signed in."""
    return await gateway.service.approval_link(id, asked.person, asked.lasts_ms)


@router.post("/approvals", response_model=BatchAnswer, responses=with_token())
async def decide_many(asked: BatchAsked, gateway: GatewayDep) -> BatchAnswer:
    """Decide several; each is answered by itself, and one that does not count disturbs no other."""
    return BatchAnswer(decisions=[_item(await decide_in(gateway, each.id, each)) for each in asked.decisions])


def _item(answer: DecisionAnswer) -> BatchItem:
    if answer.refusal is not None:
        error = Error(**_api_error(answer.refusal, answer.approval).document["error"])
        return BatchItem(id=answer.asked, ok=False, approval=answer.approval, error=error)
    grant = GrantGiven(**asdict(answer.grant)) if answer.grant else None
    return BatchItem(id=answer.asked, ok=True, approval=answer.approval, grant=grant)


async def decide_in(gateway: Gateway, ending: str, asked: DecisionAsked) -> DecisionAnswer:
    """Decides in the service, and tells who follows the run."""
    by = asked.by.strip() or WHO
    try:
        said = _answer(asked)
    except UsageError as error:
        return DecisionAnswer(ending, refusal=Refusal(error.code, error.message, error.hint))
    grant = (asked.grant_ms, tuple(asked.grant_only))
    seen = (ending, asked.decision, by, asked.digest, asked.note)
    request = DecisionRequest(*seen, said, *grant, asked.changes)
    [answer] = await gateway.service.decide([request])
    if answer.approval is not None and answer.refusal is None:
        decided = answer.approval
        gateway.services.wake_sender()
        about = {"approval_id": decided["id"], "decision": decided["decision"], "by": by}
        gateway.watchers.tell(decided["run_id"], "approval_decided", **about)
    return answer


def _answer(asked: DecisionAsked) -> str | None:
    """Edited arguments go with a yes; a result says what came of it, or answers in the tool's place."""
    if asked.arguments is not None:
        if asked.decision != "approve":
            raise UsageError("arguments can only be changed with approve", hint="leave them out")
        return json.dumps(asked.arguments, ensure_ascii=False)
    if asked.result is not None and asked.decision in ("approve", "reject"):
        raise UsageError(f"{asked.decision} takes no result", hint="changed arguments go into arguments")
    if asked.decision == "respond" and asked.result is None:
        return json.dumps(asked.note or "", ensure_ascii=False)
    return None if asked.result is None else json.dumps(asked.result, ensure_ascii=False)


def _api_error(refusal: Refusal, now: ApprovalDocument | None) -> ApiError:
    """With how it was decided, when it was decided before."""
    more = {key: now[key] for key in ("status", "decision", "decided_by", "decided_at")} if now else {}
    hint = {"hint": refusal.hint} if refusal.hint else {}
    return ApiError(status_of(refusal.code), refusal.code, refusal.message, more=hint | more)
