"""Settings on the page: models, MCP servers, channels, people, and what is wrong.

Looking is for all who are signed in, changing for admins."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from colleague.errors import ColleagueError
from colleague.gateway.api.servers import accept_in
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.render import page, redirect
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.person_document import SignInLink
from colleague.store.people import OPERATOR, ROLES

router = APIRouter(prefix="/settings", include_in_schema=False)

LOG_LINES = 300


@router.get("")
async def show_health(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await _health(visitor, gateway)


@router.post("")
async def look_around(visitor: VisitorDep, _: FormDep, gateway: GatewayDep) -> HTMLResponse:
    """What `colleague doctor` finds now."""
    visitor.require_admin("change this")
    try:
        return await _health(visitor, gateway, findings=await gateway.service.doctor())
    except ColleagueError as error:
        return await _health(visitor, gateway, problem=error.sentence)


async def _health(visitor: Visitor, gateway: Gateway, **more: Any) -> HTMLResponse:
    about = {"findings": None, "problem": "", **more}
    idle = await gateway.service.idle_settings()
    return page("settings.html", visitor, problems=gateway.problems, idle=idle, **about)


@router.get("/models")
async def show_models(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return page("settings_models.html", visitor, models=await gateway.service.models(), probe=None)


@router.post("/models")
async def probe_model(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> HTMLResponse:
    visitor.require_admin("change this")
    probe = await gateway.service.probe_model(form.get("model", ""))
    return page("settings_models.html", visitor, models=await gateway.service.models(), probe=probe)


@router.get("/servers")
async def show_servers(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await _servers(visitor, gateway)


@router.post("/servers")
async def act_on_server(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """Tries one, lets one be started that waits for a yes, or takes its tools as they are now."""
    visitor.require_admin("change this")
    name, act, digest = form.get("server", ""), form.get("act", ""), form.get("digest", "")
    if act == "probe":
        return await _servers(visitor, gateway, probe=await gateway.service.probe_server(name))
    if act not in ("accept", "accept-tools") or not digest:
        raise ApiError(422, "bad-request", "this form changes nothing: load the page again")
    try:
        if act == "accept":
            await accept_in(gateway, name, digest, visitor.name)
        else:
            await gateway.service.accept_tools(name, digest)
    except ColleagueError as error:
        return await _servers(visitor, gateway, problem=error.sentence)
    return redirect("/settings/servers")


async def _servers(visitor: Visitor, gateway: Gateway, **more: Any) -> HTMLResponse:
    about = {"probe": None, "problem": "", **more}
    return page("settings_servers.html", visitor, servers=await gateway.service.mcp_servers(), **about)


@router.get("/servers/log")
async def show_log(
    name: Annotated[str, Query(max_length=200)], visitor: VisitorDep, gateway: GatewayDep
) -> HTMLResponse:
    lines = await gateway.service.server_log(name, LOG_LINES)
    return page("settings_log.html", visitor, server=name, lines=lines, most=LOG_LINES)


@router.get("/channels")
async def show_channels(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return page("settings_channels.html", visitor, channels=await gateway.service.channels())


@router.get("/people")
async def show_people(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await _people(visitor, gateway)


@router.post("/people")
async def change_people(
    request: Request, visitor: VisitorDep, form: FormDep, gateway: GatewayDep
) -> Response:
    visitor.require_admin("change this")
    try:
        made = await _change_person(gateway, form)
    except ColleagueError as error:
        return await _people(visitor, gateway, problem=error.sentence, form=form)
    if made is None:
        return redirect("/settings/people")
    link = str(request.base_url).rstrip("/") + made["path"]
    return await _people(visitor, gateway, link=link, linked=made["name"])


async def _change_person(gateway: Gateway, form: Form) -> SignInLink | None:
    """The link of whoever was added, or got another one."""
    name, act = form.get("name", "").strip(), form.get("act", "")
    if act == "add":
        experts = [each.strip() for each in form.get("experts", "").split(",") if each.strip()]
        return await gateway.service.add_person(name, form.get("role", ""), experts)
    if act == "link":
        return await gateway.service.link_person(name)
    if act == "sign-out":
        await gateway.service.sign_out_person(name)
    elif act == "remove":
        await gateway.service.remove_person(name)
    else:
        raise ApiError(422, "bad-request", "this form changes nothing: load the page again")
    return None


async def _people(visitor: Visitor, gateway: Gateway, **more: Any) -> HTMLResponse:
    about = {"problem": "", "link": "", "linked": "", "form": {}, **more}
    about |= {"roles": ROLES, "operator": OPERATOR, "tokens": _tokens(gateway)}
    return page("settings_people.html", visitor, people=await gateway.service.people(), **about)


def _tokens(gateway: Gateway) -> list[tuple[str, str]]:
    """Which tokens there are, never what they are."""
    settings, keys = gateway.live.settings, gateway.live.keys
    own = "made by this home, for this machine alone" if settings.gateway.auth.token is None else "set"
    return [
        ("gateway.auth.token", own if keys.gateway else "none: authentication is disabled"),
        ("hooks.token", "set" if keys.hooks else "not set: each trigger needs a secret of its own"),
    ]
