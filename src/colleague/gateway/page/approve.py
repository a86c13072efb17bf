"""One question behind a link: read on a phone, decided once by whoever was given the link."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from colleague.errors import UsageError
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.decision_form import decision_of
from colleague.gateway.page.form import read_form
from colleague.gateway.page.inbox_list import read_question
from colleague.gateway.page.render import page
from colleague.gateway.page.sign_in import count_failure
from colleague.gateway.page.visitor import Visitor
from colleague.gateway.request_origin import set_visitor
from colleague.store.people import linked_approval, use_approval_link

router = APIRouter(include_in_schema=False)


@router.get("/approve/{secret}")
async def show_question(secret: str, request: Request, gateway: GatewayDep) -> Response:
    """Nothing is decided by looking: programs that check mail follow links."""
    found = await gateway.database.read(lambda tx: linked_approval(tx, secret))
    if found is None:
        count_failure(request, gateway)
        return page("approve_gone.html", status=410)
    approval, person = found
    return await _question_page(
        gateway, approval, request.url.path, Visitor(person, "admin", "", signed_in=False)
    )


@router.post("/approve/{secret}")
async def decide_question(secret: str, request: Request, gateway: GatewayDep) -> Response:
    form = await read_form(request)
    found = await gateway.database.read(lambda tx: linked_approval(tx, secret))
    if found is None:
        count_failure(request, gateway)
        return page("approve_gone.html", status=410)
    approval, person = found
    set_visitor(person, "link")
    visitor, problem = Visitor(person, "admin", "", signed_in=False), ""
    seen = await gateway.service.approval(approval)
    try:
        said = await decide_in(gateway, approval, decision_of(seen, form, visitor.name))
        problem = said.refusal.message if said.refusal is not None else ""
    except UsageError as error:
        problem = error.sentence
    if not problem:
        await gateway.database.write(lambda tx: use_approval_link(tx, secret))
    return await _question_page(gateway, approval, request.url.path, visitor, problem)


async def _question_page(
    gateway: Gateway, approval: str, action: str, visitor: Visitor, problem: str = ""
) -> Response:
    question = await read_question(gateway, approval)
    return page("approve.html", visitor, question=question, action=action, problem=problem)
