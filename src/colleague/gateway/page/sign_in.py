"""Signing in: by the gateway's token, or once by a link that a person was given."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from colleague.gateway.client_address import client_address
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.middleware import slow_down
from colleague.gateway.page.form import FormDep, read_form
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import COOKIE, VisitorDep, find_visitor
from colleague.gateway.request_origin import request_origin, set_visitor
from colleague.gateway.throttle import network_of
from colleague.store.audit import Change, note_change
from colleague.store.people import (
    OPERATOR,
    SIGNED_IN_MS,
    link_person,
    sign_in,
    sign_out,
    sign_out_everywhere,
    use_link,
)
from colleague.store.tx import Tx

router = APIRouter(include_in_schema=False)

NextPath = Annotated[str, Query(alias="next", max_length=2_000)]


@router.get("/login")
async def show_login(request: Request, gateway: GatewayDep, after: NextPath = "/") -> Response:
    if await find_visitor(request, gateway) is not None:
        return RedirectResponse(_own_path(after), 303)
    return page("login.html", after=_own_path(after), problem="")


@router.post("/login")
async def log_in(request: Request, gateway: GatewayDep) -> Response:
    form = await read_form(request)
    after = _own_path(form.get("next", "/"))
    if not gateway.live.keys.is_gateways(form.get("token", "")):
        count_failure(request, gateway)
        return page("login.html", status=401, after=after, problem="This is not the token of the gateway.")
    return await _signed_in(request, gateway, OPERATOR, after)


@router.get("/login/{secret}")
async def show_link(secret: str, gateway: GatewayDep) -> HTMLResponse:
    """Nothing happens by looking: programs that check mail follow links."""
    person = await gateway.database.read(lambda tx: link_person(tx, secret))
    return page("login_link.html", status=200 if person else 410, person=person)


@router.post("/login/{secret}")
async def follow_link(secret: str, request: Request, gateway: GatewayDep) -> Response:
    person = await gateway.database.write(lambda tx: use_link(tx, secret))
    if person is None:
        count_failure(request, gateway)
        return page("login_link.html", status=410, person=None)
    return await _signed_in(request, gateway, person, "/")


@router.post("/logout")
async def log_out(request: Request, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    secret, origin = request.cookies.get(COOKIE, ""), request_origin()

    def work(tx: Tx) -> None:
        if form.get("everywhere"):
            count = sign_out_everywhere(tx, visitor.name)
            change = Change("person.sign-out", visitor.name, detail={"browsers": count})
            note_change(tx, origin, change)
        sign_out(tx, secret)

    await gateway.database.write(work)
    answer = RedirectResponse("/login", 303, headers=dict(HEADERS))
    answer.delete_cookie(COOKIE, path="/")
    return answer


async def _signed_in(request: Request, gateway: Gateway, person: str, after: str) -> Response:
    agent = request.headers.get("user-agent", "")
    set_visitor(person, "page")
    origin = request_origin()

    def work(tx: Tx) -> str:
        note_change(tx, origin, Change("person.sign-in", person, detail={"browser": agent}))
        return sign_in(tx, person, agent)

    secret = await gateway.database.write(work)
    answer = RedirectResponse(after, 303, headers=dict(HEADERS))
    answer.set_cookie(
        COOKIE,
        secret,
        max_age=SIGNED_IN_MS // 1000,
        path="/",
        httponly=True,
        samesite="lax",
        secure=not gateway.live.listening.loopback,
    )
    return answer


def count_failure(request: Request, gateway: Gateway) -> None:
    """Raises ApiError when there were too many."""
    client = client_address(request.scope, gateway.live.settings.gateway.trusted_proxies)
    slow_down(gateway.throttle, (network_of(client), "page"))


def _own_path(path: str) -> str:
    """Only places of this page are gone to."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain else "/"
