"""The inbox: what needs a person, and deciding it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from colleague.errors import UsageError
from colleague.experts.runs.redacted_report import approval_report, outbox_report
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.fields import changed_value
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.news import page_news
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.gateway.schemas import DecisionAsked
from colleague.gateway.streams import EVENT_STREAM
from colleague.run_document import ApprovalDocument, Decision, MessageDocument, RunBrief
from colleague.store.approvals import approvals_page, count_approvals
from colleague.store.outbox import deliveries_page
from colleague.store.overview import count_dead_letters, count_unread, dead_letters
from colleague.store.report import brief_document
from colleague.store.tx import Tx

router = APIRouter(include_in_schema=False)

SHOWN = 50
EDITED = "field:"
"""Begins the names of a form's fields that hold arguments."""


@dataclass(frozen=True)
class Inbox:
    """All that waits for a person, the beginning of each list."""

    approvals: list[ApprovalDocument]
    approvals_total: int
    dead_letters: list[RunBrief]
    dead_letters_total: int
    unread: list[MessageDocument]
    unread_total: int

    @property
    def total(self) -> int:
        return self.approvals_total + self.dead_letters_total + self.unread_total


@router.get("/")
async def show_inbox(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return page("inbox.html", visitor, inbox=await _inbox(here), problems=here.problems, answer=None)


@router.get("/inbox/items")
async def show_items(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    """The part that loads again by itself."""
    return page("inbox_items.html", visitor, inbox=await _inbox(here), answer=None)


@router.get("/news")
async def news(_: VisitorDep, here: GatewayDep) -> StreamingResponse:
    """Until the page is closed."""
    headers = dict(HEADERS) | {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        page_news(here.database, here.stopping), media_type=EVENT_STREAM, headers=headers
    )


@router.post("/inbox/{id}")
async def decide(id: str, request: Request, visitor: VisitorDep, form: FormDep, here: GatewayDep) -> Response:  # noqa: A002
    """Decides one question as the person who is signed in."""
    seen = await here.service.approval(id)
    visitor.require_decider(seen["expert"])
    problem, said = "", None
    try:
        said = await decide_in(here, id, decision_of(seen, form, visitor))
    except UsageError as error:
        problem = f"{error.message} ({error.hint})" if error.hint else error.message
    if said is not None and said.refusal is not None:
        problem = said.refusal.message
    if not problem and "hx-request" not in request.headers:
        return RedirectResponse("/", 303, headers=dict(HEADERS))
    answer = {"problem": problem, "now": await here.service.approval(id)}
    template = "inbox_items.html" if "hx-request" in request.headers else "inbox.html"
    more: dict[str, Any] = {} if template == "inbox_items.html" else {"problems": here.problems}
    return page(template, visitor, inbox=await _inbox(here), answer=answer, **more)


def decision_of(seen: ApprovalDocument, form: Form, visitor: Visitor) -> DecisionAsked:
    """Raises UsageError when the form makes no sense."""
    decision = form.get("decision", "")
    if decision not in get_args(Decision):
        raise UsageError("this form decides nothing", hint="load the page again")
    return DecisionAsked(
        decision=cast(Decision, decision),
        digest=form.get("digest", ""),
        by=visitor.name,
        note=form.get("note", "").strip(),
        changes=_changes(seen, form) or None if decision == "approve" else None,
    )


def _changes(seen: ApprovalDocument, form: Form) -> dict[str, Any]:
    """The arguments that somebody has changed."""
    before = seen["arguments"] if isinstance(seen["arguments"], dict) else {}
    found: dict[str, Any] = {}
    for name, value in before.items():
        text = form.get(f"{EDITED}{name}")
        if text is None:
            continue
        try:
            after = changed_value(value, text)
        except ValueError:
            raise UsageError(f"{name} is no value of its kind", hint="write it as it was before") from None
        if after != value:
            found[name] = after
    return found


async def _inbox(here: Gateway) -> Inbox:
    def work(tx: Tx) -> Inbox:
        questions = approvals_page(tx, every=False, limit=SHOWN, after=None)
        unread = deliveries_page(tx, unread=True, limit=SHOWN, after=None)
        return Inbox(
            [approval_report(tx, here.home, each) for each in questions.items],
            count_approvals(tx),
            [brief_document(run) for run in dead_letters(tx, limit=SHOWN).items],
            count_dead_letters(tx),
            [outbox_report(tx, here.home, each) for each in unread.items],
            count_unread(tx),
        )

    return await here.database.read(work)
