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
from colleague.gateway.page.render import page, see
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.person_document import SignInLink
from colleague.store.people import OPERATOR, ROLES

router = APIRouter(prefix="/settings", include_in_schema=False)

LOG_LINES = 300


@router.get("")
async def show_health(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return await _health(visitor, here)


@router.post("")
async def look_around(visitor: VisitorDep, _: FormDep, here: GatewayDep) -> HTMLResponse:
    """What `colleague doctor` finds now."""
    visitor.require_admin("change this")
    try:
        return await _health(visitor, here, findings=await here.service.doctor())
    except ColleagueError as error:
        return await _health(visitor, here, problem=error.sentence)


async def _health(visitor: Visitor, here: Gateway, **more: Any) -> HTMLResponse:
    about = {"findings": None, "problem": "", **more}
    idle = await here.service.idle_settings()
    return page("settings.html", visitor, problems=here.problems, idle=idle, **about)


@router.get("/models")
async def show_models(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return page("settings_models.html", visitor, models=await here.service.models(), probe=None)


@router.post("/models")
async def probe_model(visitor: VisitorDep, form: FormDep, here: GatewayDep) -> HTMLResponse:
    visitor.require_admin("change this")
    probe = await here.service.probe_model(form.get("model", ""))
    return page("settings_models.html", visitor, models=await here.service.models(), probe=probe)


@router.get("/servers")
async def show_servers(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return await _servers(visitor, here)


@router.post("/servers")
async def act_on_server(visitor: VisitorDep, form: FormDep, here: GatewayDep) -> Response:
    """Tries one, lets one be started that waits for a yes, or takes its tools as they are now."""
    visitor.require_admin("change this")
    name, act, digest = form.get("server", ""), form.get("act", ""), form.get("digest", "")
    if act == "probe":
        return await _servers(visitor, here, probe=await here.service.probe_server(name))
    if act not in ("accept", "accept-tools") or not digest:
        raise ApiError(422, "bad-request", "this form changes nothing: load the page again")
    try:
        if act == "accept":
            await accept_in(here, name, digest, visitor.name)
        else:
            await here.service.accept_tools(name, digest)
    except ColleagueError as error:
        return await _servers(visitor, here, problem=error.sentence)
    return see("/settings/servers")


async def _servers(visitor: Visitor, here: Gateway, **more: Any) -> HTMLResponse:
    about = {"probe": None, "problem": "", **more}
    return page("settings_servers.html", visitor, servers=await here.service.mcp_servers(), **about)


@router.get("/servers/log")
async def show_log(
    name: Annotated[str, Query(max_length=200)], visitor: VisitorDep, here: GatewayDep
) -> HTMLResponse:
    lines = await here.service.server_log(name, LOG_LINES)
    return page("settings_log.html", visitor, server=name, lines=lines, most=LOG_LINES)


@router.get("/channels")
async def show_channels(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return page("settings_channels.html", visitor, channels=await here.service.channels())


@router.get("/people")
async def show_people(visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:
    return await _people(visitor, here)


@router.post("/people")
async def change_people(request: Request, visitor: VisitorDep, form: FormDep, here: GatewayDep) -> Response:
    visitor.require_admin("change this")
    try:
        made = await _change_person(here, form)
    except ColleagueError as error:
        return await _people(visitor, here, problem=error.sentence, form=form)
    if made is None:
        return see("/settings/people")
    link = str(request.base_url).rstrip("/") + made["path"]
    return await _people(visitor, here, link=link, linked=made["name"])


async def _change_person(here: Gateway, form: Form) -> SignInLink | None:
    """The link of whoever was added, or got another one."""
    name, act = form.get("name", "").strip(), form.get("act", "")
    if act == "add":
        experts = [each.strip() for each in form.get("experts", "").split(",") if each.strip()]
        return await here.service.add_person(name, form.get("role", ""), experts)
    if act == "link":
        return await here.service.link_person(name)
    if act == "sign-out":
        await here.service.sign_out_person(name)
    elif act == "remove":
        await here.service.remove_person(name)
    else:
        raise ApiError(422, "bad-request", "this form changes nothing: load the page again")
    return None


async def _people(visitor: Visitor, here: Gateway, **more: Any) -> HTMLResponse:
    about = {"problem": "", "link": "", "linked": "", "form": {}, **more}
    about |= {"roles": ROLES, "operator": OPERATOR, "tokens": _tokens(here)}
    return page("settings_people.html", visitor, people=await here.service.people(), **about)


def _tokens(here: Gateway) -> list[tuple[str, str]]:
    """Which tokens there are, never what they are."""
    settings, keys = here.live.settings, here.live.keys
    own = "made by this home, for this machine alone" if settings.gateway.auth.token is None else "set"
    return [
        ("gateway.auth.token", own if keys.gateway else "none: authentication is disabled"),
        ("hooks.token", "set" if keys.hooks else "not set: each trigger needs a secret of its own"),
    ]
