"""Changing experts from the page: install, bind, enable, update, remove, and what they learn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from colleague.errors import ColleagueError, UsageError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.background_work import BackgroundWork
from colleague.gateway.page.experts import expert_brief, expert_path
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.render import page, redirect
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.runtime.expert_service import AcceptedUpdate, BindRequest, SourceRequest, UpdateRequest
from colleague.runtime.requests import DecisionRequest

router = APIRouter(include_in_schema=False)

REFRESH = {"Refresh": "2"}
"""A page about work under way loads itself again, with scripts and without."""
RESULTS = {
    "preview": "expert_install_preview.html",
    "update-preview": "expert_update_preview.html",
    "check": "expert_checked.html",
}


@router.get("/experts/-/install")
async def show_install(visitor: VisitorDep) -> HTMLResponse:
    visitor.require_admin("change experts")
    return page("expert_install.html", visitor, asked=asdict(SourceRequest("")), problem="")


@router.post("/experts/-/install")
async def install(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """Looks at a package first; then, with its digest, installs it."""
    visitor.require_admin("change experts")
    asked = _source_of(form)
    if not asked.source:
        problem = "say where the package is"
        return page("expert_install.html", visitor, 409, asked=asdict(asked), problem=problem)
    digest, service = form.get("digest", ""), gateway.service
    if digest:
        title = f"Installing {asked.source}"
        work = await gateway.works.begin(
            visitor.name,
            "install",
            title,
            asdict(asked),
            lambda tell: service.install_expert(asked, digest, tell=tell),
        )
    else:
        title = f"Looking at {asked.source}"
        work = await gateway.works.begin(
            visitor.name,
            "preview",
            title,
            asdict(asked),
            lambda tell: service.preview_source(asked, tell=tell),
        )
    return redirect(_work_path(work))


def _source_of(form: Form) -> SourceRequest:
    told = {key: form.get(key, "").strip() for key in ("source", "path", "name")}
    return SourceRequest(**told, link=form.get("link") == "yes")


def _work_path(work: BackgroundWork) -> str:
    return f"/experts/-/work/{work.id}"


@router.get("/experts/-/work/{id}")
async def show_work(id: str, visitor: VisitorDep, gateway: GatewayDep) -> Response:  # noqa: A002
    """How far it is; then what it came to."""
    work = gateway.works.find(id, visitor.name)
    if not work.done or work.error is not None:
        about: dict[str, Any] = {"work": work, "problem": work.error.sentence if work.error else ""}
        return page("expert_work.html", visitor, headers={} if work.done else REFRESH, **about)
    if work.kind == "install":
        return redirect(expert_path(work.result["name"], "/setup"))
    if work.kind == "update":
        return redirect(expert_path(work.about["expert"]))
    return page(RESULTS[work.kind], visitor, work=work, found=work.result, asked=work.about)


@router.get("/experts/{name}/setup")
async def show_setup(name: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await _setup_page(gateway, visitor, name)


async def _setup_page(gateway: Gateway, visitor: Visitor, name: str, problem: str = "") -> HTMLResponse:
    data: dict[str, Any] = {
        "expert": await expert_brief(gateway, name),
        "health": await gateway.service.check_expert(name),
        "bindable": await gateway.service.bindable(name),
    }
    return page("expert_setup.html", visitor, 409 if problem else 200, problem=problem, **data)


@router.post("/experts/{name}/setup")
async def change(name: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    visitor.require_admin("change experts")
    make = CHANGES.get(form.get("act", ""))
    try:
        if make is None:
            raise UsageError("this form changes nothing", hint="load the page again")
        where = await make(gateway, visitor, name, form)
    except ColleagueError as error:
        return await _setup_page(gateway, visitor, name, error.sentence)
    return redirect(where)


async def _bind(gateway: Gateway, __: Visitor, name: str, form: Form) -> str:
    kind, _, target = form.get("target", "").partition(":")
    tool, skill = form.get("tool", ""), kind == "skill"
    await gateway.service.bind_tool(name, BindRequest(tool, target, skill, _operations(form)))
    return expert_path(name, "/setup")


def _operations(form: Form) -> dict[str, str]:
    """One `operation = tool of the server` in a line."""
    found: dict[str, str] = {}
    for line in form.get("operations", "").splitlines():
        operation, equals, target = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not (operation and equals and target):
            raise UsageError(f"{line.strip()!r} is not written as operation = tool of the server")
        found[operation] = target
    return found


async def _unbind(gateway: Gateway, _: Visitor, name: str, form: Form) -> str:
    await gateway.service.unbind_tool(name, form.get("tool", ""))
    return expert_path(name, "/setup")


async def _enable(gateway: Gateway, _: Visitor, name: str, __: Form) -> str:
    """What cannot work all the same stands at the top of the expert's page."""
    await gateway.service.enable_expert(name)
    return expert_path(name)


async def _disable(gateway: Gateway, _: Visitor, name: str, __: Form) -> str:
    await gateway.service.disable_expert(name)
    return expert_path(name, "/setup")


async def _check(gateway: Gateway, visitor: Visitor, name: str, _: Form) -> str:
    service, title = gateway.service, f"Asking the servers of {name}"
    work = await gateway.works.begin(
        visitor.name,
        "check",
        title,
        {"expert": name},
        lambda tell: service.check_expert(name, probe=True, tell=tell),
    )
    return _work_path(work)


async def _look_at_update(gateway: Gateway, visitor: Visitor, name: str, form: Form) -> str:
    service, asked = gateway.service, _update_of(form)
    work = await gateway.works.begin(
        visitor.name,
        "update-preview",
        f"Looking for a new version of {name}",
        {"expert": name, **asdict(asked)},
        lambda tell: service.preview_update(name, asked, tell=tell),
    )
    return _work_path(work)


async def _update(gateway: Gateway, visitor: Visitor, name: str, form: Form) -> str:
    service, asked = gateway.service, _update_of(form)
    accepted = AcceptedUpdate(form.get("digest", ""), form.get("force") == "yes", form.get("loosen") == "yes")
    work = await gateway.works.begin(
        visitor.name,
        "update",
        f"Updating {name}",
        {"expert": name, **asdict(asked)},
        lambda tell: service.update_expert(name, asked, accepted, tell=tell),
    )
    return _work_path(work)


def _update_of(form: Form) -> UpdateRequest:
    return UpdateRequest(form.get("accept_edits") == "yes", form.get("to", "").strip())


async def _remove(gateway: Gateway, _: Visitor, name: str, form: Form) -> str:
    if form.get("typed", "").strip() != name:
        raise UsageError(f"{name} is not removed", hint="type its name to say that you mean it")
    await gateway.service.remove_expert(name, purge=form.get("purge") == "yes")
    return "/experts"


CHANGES: dict[str, Callable[[Gateway, Visitor, str, Form], Awaitable[str]]] = {
    "bind": _bind,
    "unbind": _unbind,
    "enable": _enable,
    "disable": _disable,
    "check": _check,
    "look": _look_at_update,
    "update": _update,
    "remove": _remove,
}
"""What a form of the set-up can ask for; each answers with where to go then."""


@router.post("/experts/{name}/learnings")
async def decide_learning(name: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """Takes a proposed learning, or does not."""
    visitor.require_decider(name)
    request = DecisionRequest(
        form.get("id", ""),
        "approve" if form.get("decision") == "approve" else "reject",
        visitor.name,
        digest=form.get("digest", ""),
        note=form.get("note", "").strip(),
    )
    proposed = [each["approval"]["id"] for each in (await gateway.service.learnings(name))["proposed"]]
    if request.approval in proposed and request.digest:
        [answer] = await gateway.service.decide([request])
        problem = answer.refusal.message if answer.refusal else ""
    else:
        problem = "somebody has decided this already, or it is no learning of this expert"
    if not problem:
        return redirect(expert_path(name, "/learnings"))
    about: dict[str, Any] = {"expert": await expert_brief(gateway, name), "problem": problem}
    learnings = await gateway.service.learnings(name)
    return page("expert_learnings.html", visitor, 409, learnings=learnings, **about)
