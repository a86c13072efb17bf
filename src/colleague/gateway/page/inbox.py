"""The inbox: what needs a person, and deciding it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from colleague.errors import ColleagueError, UsageError
from colleague.experts.practice import is_empty
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.decision_form import EDITED, decision_of, field_problem
from colleague.gateway.page.fields import changed_value
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.inbox_list import decided_lately, expert_told_of, read_inbox, read_question
from colleague.gateway.page.news import LONGEST_PAUSE, PAUSE_SECONDS, page_news
from colleague.gateway.page.render import HEADERS, page, redirect
from colleague.gateway.page.sources import sources_of
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.gateway.streams import EVENT_STREAM
from colleague.run_document import RunDocument

router = APIRouter(include_in_schema=False)

WELCOME = "/welcome"
"""Where somebody came from who decides their first question."""
PICKED = "pick:"
"""Begins the names of the questions that are decided together; the value is the digest."""
After = Annotated[str, Query(max_length=100)]
Pause = Annotated[float, Query(ge=PAUSE_SECONDS, le=LONGEST_PAUSE)]


@dataclass(frozen=True)
class DecidedOne:
    """What came of one decision, for the person who made it."""

    operation: str
    problem: str = ""
    decision: str = ""
    grant: str = ""


@router.get("/")
async def show_inbox(
    visitor: VisitorDep, gateway: GatewayDep, after: After = "", stay: After = ""
) -> Response:
    """An empty home begins with the first visit, unless somebody wants to look around."""
    if visitor.is_admin and not after and not stay and await asyncio.to_thread(is_empty, gateway.home):
        return redirect("/welcome")
    return await _inbox_page(gateway, visitor, after)


@router.get("/inbox/items")
async def show_items(visitor: VisitorDep, gateway: GatewayDep, after: After = "") -> HTMLResponse:
    """The part that loads again by itself."""
    return page("inbox_items.html", visitor, inbox=await read_inbox(gateway, after), said=[])


@router.get("/inbox/decided")
async def show_decided(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    """What others have just decided: also told to whoever is writing."""
    return page("inbox_decided.html", visitor, decided=await decided_lately(gateway, visitor.name))


@router.get("/news")
async def news(_: VisitorDep, gateway: GatewayDep, pause: Pause = PAUSE_SECONDS) -> StreamingResponse:
    """Until the page is closed."""
    headers = dict(HEADERS) | {"X-Accel-Buffering": "no"}
    others = gateway.registry.watchers, gateway.expert_health.watchers
    told = page_news(gateway.database, gateway.stopping, *others, pause=pause)
    return StreamingResponse(told, media_type=EVENT_STREAM, headers=headers)


@router.get("/inbox/{id}")
async def show_one(id: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    question = await read_question(gateway, id)
    sources = await sources_of(gateway, question.approval)
    return page("inbox_one.html", visitor, question=question, sources=sources, said=[])


@router.get("/inbox/{id}/edit")
async def show_form(id: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    """The arguments as a form, for a card of the list."""
    return page("question_edit.html", visitor, each=await gateway.service.approval(id))


@router.get("/inbox/{id}/sources")
async def show_sources(id: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    """What was read before the question, for a card of the list."""
    seen = await gateway.service.approval(id)
    return page("question_sources.html", visitor, sources=await sources_of(gateway, seen), each=seen)


@router.get("/inbox/{id}/raw")
async def show_raw(id: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    return page("question_raw.html", visitor, each=await gateway.service.approval(id))


@router.post("/inbox/{id}/check")
async def check_field(id: str, _: VisitorDep, form: FormDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    """What is wrong with one field while somebody types."""
    seen = await gateway.service.approval(id)
    return page("field_problem.html", problem=field_problem(seen, form, form.get("checked", "")))


@router.get("/inbox/failed/{id}")
async def show_failed(id: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:  # noqa: A002
    """The inputs of a dead letter as a form."""
    return page("inbox_failed.html", visitor, run=await gateway.service.run(id))


@router.post("/inbox/failed/{id}")
async def settle_failed(id: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:  # noqa: A002
    """Tries a dead letter again, with other inputs where somebody changed them, or lets it be."""
    run = await gateway.service.run(id)
    visitor.require_decider(run["expert"])
    try:
        if form.get("act") == "drop":
            await gateway.service.drop(run["id"], visitor.name)
        else:
            await gateway.service.retry(run["id"], _changed_inputs(run, form))
    except ColleagueError as error:
        return await _inbox_page(gateway, visitor, said=[DecidedOne(run["expert"], error.sentence)])
    return _back()


@router.post("/inbox/read/{id}")
async def mark_read(id: str, visitor: VisitorDep, _: FormDep, gateway: GatewayDep) -> Response:  # noqa: A002
    visitor.require_decider(await expert_told_of(gateway, id))
    await gateway.service.read(id, visitor.name)
    return _back()


@router.post("/inbox")
async def decide_several(
    request: Request, visitor: VisitorDep, form: FormDep, gateway: GatewayDep, after: After = ""
) -> Response:
    """Decides all that were picked; each is answered by itself."""
    picked = {name.removeprefix(PICKED): form[name] for name in form if name.startswith(PICKED)}
    said = [
        await _decide_one(gateway, visitor, each, {**form, "digest": digest})
        for each, digest in picked.items()
    ] or [DecidedOne("", "nothing is picked: tick the questions that you want to decide")]
    return await _decided_page(request, gateway, visitor, said, after)


@router.post("/inbox/{id}")
async def decide(
    id: str,  # noqa: A002
    request: Request,
    visitor: VisitorDep,
    form: FormDep,
    gateway: GatewayDep,
    after: After = "",
) -> Response:
    """Decides one question as the person who is signed in."""
    seen = await gateway.service.approval(id)
    visitor.require_decider(seen["expert"])
    said = await _decide_one(gateway, visitor, id, form)
    if not said.problem and form.get("next") == WELCOME:
        return redirect(WELCOME)
    if not said.problem and "hx-request" not in request.headers:
        return _back(after)
    if said.problem and "hx-request" in request.headers:
        return _told_in_place(seen["id"], said.problem)
    return await _decided_page(request, gateway, visitor, [said], after)


async def _decide_one(gateway: Gateway, visitor: Visitor, id: str, form: Form) -> DecidedOne:  # noqa: A002
    try:
        seen = await gateway.service.approval(id)
        if not visitor.may_decide(seen["expert"]):
            return DecidedOne(
                seen["operation"], f"your role does not allow you to decide for {seen['expert']}"
            )
        answer = await decide_in(gateway, id, decision_of(seen, form, visitor.name))
    except ColleagueError as error:
        return DecidedOne("", error.sentence)
    if answer.refusal is not None:
        return DecidedOne(seen["operation"], answer.refusal.message)
    grant = answer.grant.covers if answer.grant else ""
    return DecidedOne(seen["operation"], decision=str(form.get("decision")), grant=grant)


def _told_in_place(approval: str, problem: str) -> HTMLResponse:
    """On the card: the list stays, and with it what somebody has written."""
    return page(
        "field_problem.html",
        headers={"HX-Retarget": f"#p-{approval}", "HX-Reswap": "textContent"},
        problem=problem,
    )


async def _decided_page(
    request: Request, gateway: Gateway, visitor: Visitor, said: list[DecidedOne], after: str
) -> HTMLResponse:
    if "hx-request" in request.headers:
        return page("inbox_items.html", visitor, inbox=await read_inbox(gateway, after), said=said)
    return await _inbox_page(gateway, visitor, after, said)


async def _inbox_page(
    gateway: Gateway, visitor: Visitor, after: str = "", said: list[DecidedOne] | None = None
) -> HTMLResponse:
    about: dict[str, Any] = {
        "inbox": await read_inbox(gateway, after),
        "decided": await decided_lately(gateway, visitor.name),
        "problems": gateway.problems,
        "said": said or [],
    }
    return page("inbox.html", visitor, **about)


def _back(after: str = "") -> Response:
    return redirect(f"/?after={after}" if after else "/")


def _changed_inputs(run: RunDocument, form: Form) -> dict[str, Any]:
    """Raises UsageError."""
    before = run["inputs"] if isinstance(run["inputs"], dict) else {}
    found = {}
    for name, value in before.items():
        try:
            after = changed_value(value, form.get(f"{EDITED}{name}", ""))
        except ValueError:
            raise UsageError(f"{name} is no value of its kind", hint="write it as it was before") from None
        if f"{EDITED}{name}" in form and after != value:
            found[name] = after
    return found
