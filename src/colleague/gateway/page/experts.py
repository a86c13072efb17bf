"""Experts on the page: the list, and one expert with how it is and what comes next."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from colleague.errors import ColleagueError, NotFound, UsageError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.render import page, redirect
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.settings_document import McpServerDocument

router = APIRouter(include_in_schema=False)

FileName = Annotated[str, Query(max_length=1000)]


def expert_path(name: str, below: str = "") -> str:
    return f"/experts/{quote(name, safe='')}{below}"


@router.get("/experts")
async def list_experts(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    service = gateway.service
    triggers, found = await service.triggers(), await service.experts()
    findings = await asyncio.gather(*(_findings(gateway, each["name"]) for each in found))
    rows = [
        each | {"findings": wrong, **_waking(triggers, each["name"])}
        for each, wrong in zip(found, findings, strict=True)
    ]
    return page("experts.html", visitor, experts=rows)


async def _findings(gateway: Gateway, name: str) -> list[str] | None:
    """What is wrong, in sentences; of an expert that cannot be read, why. None while it is looked at."""
    try:
        checked = await gateway.check_expert_soon(name)
    except ColleagueError as error:
        return [error.sentence]
    if checked is None:
        return None
    return [each["message"] for each in checked["findings"] if each["severity"] == "error"]


def _waking(triggers: list[dict[str, Any]], name: str) -> dict[str, Any]:
    own = [each for each in triggers if each["expert"] == name]
    return {
        "next_at": min((each["next_at"] for each in own if each["next_at"]), default=None),
        "last_at": max((each["last_at"] for each in own if each["last_at"]), default=None),
        "paused": sum(each["paused"] for each in own),
    }


@router.get("/experts/{name}")
async def show_expert(name: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await expert_page(gateway, visitor, name)


async def expert_page(
    gateway: Gateway, visitor: Visitor, name: str, *, problem: str = "", fired: Form | None = None
) -> HTMLResponse:
    """`fired` is what somebody wrote into a form that was refused, so that it is not lost."""
    service, about = gateway.service, await expert_brief(gateway, name)
    document, unreadable = None, ""
    try:
        document = await gateway.expert_document(name)
    except ColleagueError as error:
        unreadable = error.sentence
    data: dict[str, Any] = {
        "health": await gateway.check_expert(name),
        "triggers": [each | {"payload": _payload(gateway, each)} for each in await service.triggers(name)],
        "activity": await service.expert_activity(name),
        "servers": await _servers(gateway, about),
    }
    return page(
        "expert.html",
        visitor,
        status=200 if not problem else 409,
        expert=about,
        document=document,
        unreadable=unreadable,
        problem=problem,
        fired=fired or {"trigger": "", "payload": ""},
        **data,
    )


async def _servers(gateway: Gateway, about: dict[str, Any]) -> list[McpServerDocument]:
    """How the servers are that its tools are bound to, as far as this process has used them."""
    bound = {server for server in about["tools"].values() if server}
    return [each for each in await gateway.service.mcp_servers() if each["name"] in bound]


async def expert_brief(gateway: Gateway, name: str) -> dict[str, Any]:
    """What stands above every screen of an expert. Raises NotFound."""
    for each in await gateway.service.experts():
        if each["name"] == name:
            return each
    raise NotFound(f"there is no expert {name!r}")


def _payload(gateway: Gateway, trigger: dict[str, Any]) -> str:
    """A payload to begin with: every field that the trigger reads, still empty."""
    try:
        bound = gateway.registry.find(trigger["expert"], trigger["trigger"])
    except NotFound:
        return "{}"
    document: dict[str, Any] = {}
    paths = [*bound.trigger.payload_mapping.values()]
    paths += [bound.trigger.dedupe_key] if bound.trigger.dedupe_key else []
    for path in paths:
        _put(document, path.text.split("."))
    return json.dumps(document, indent=2, ensure_ascii=False)


def _put(document: dict[str, Any], keys: list[str]) -> None:
    for key in keys[:-1]:
        below = document.setdefault(key, {})
        if not isinstance(below, dict):
            return
        document = below
    document.setdefault(keys[-1], "")


@router.post("/experts/{name}/triggers/{trigger}")
async def act(name: str, trigger: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """Pauses, resumes or fires a trigger."""
    visitor.require_admin("change experts")
    try:
        if form.get("act") == "fire":
            return await _fire(gateway, name, trigger, form)
        if form.get("act") == "pause":
            await gateway.service.pause(name, trigger, visitor.name)
        elif form.get("act") == "resume":
            await gateway.service.resume(name, trigger)
    except ColleagueError as error:
        fired = {"trigger": trigger, "payload": form.get("payload", "")}
        return await expert_page(gateway, visitor, name, problem=error.sentence, fired=fired)
    return redirect(expert_path(name, "#triggers"))


async def _fire(gateway: Gateway, name: str, trigger: str, form: Form) -> Response:
    accepted = await gateway.service.fire(name, trigger, _fired_payload(form.get("payload", "")))
    if accepted.run_id is None:
        return redirect(expert_path(name, "#events"))
    return redirect(f"/runs/{accepted.run_id}")


def _fired_payload(text: str) -> Any:
    try:
        payload = json.loads(text.strip() or "{}")
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the payload is no JSON: {error}", hint="correct it and fire again") from None
    return payload


@router.get("/experts/{name}/prompt")
async def show_prompt(name: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    about = await expert_brief(gateway, name)
    try:
        prompt, problem = await gateway.service.expert_prompt(name), ""
    except ColleagueError as error:
        prompt, problem = None, error.sentence
    return page("expert_prompt.html", visitor, expert=about, prompt=prompt, problem=problem)


@router.get("/experts/{name}/state")
async def show_state(
    name: str,
    visitor: VisitorDep,
    gateway: GatewayDep,
    file: FileName = "",
    version: Annotated[int, Query(ge=1, le=2**31 - 1)] | None = None,
) -> HTMLResponse:
    """The files of an expert, or one of them: its versions, and what each changed."""
    about = await expert_brief(gateway, name)
    if not file:
        files = await gateway.service.expert_files(name)
        scratch = gateway.live.settings.experts.scratch_retention
        return page("expert_state.html", visitor, expert=about, files=files, scratch_kept=scratch)
    return page("expert_file.html", visitor, expert=about, **await _file(gateway, name, file, version))


async def _file(gateway: Gateway, name: str, file: str, version: int | None) -> dict[str, Any]:
    shown = await gateway.service.file_text(name, file, version)
    versions = await gateway.service.file_versions(name, file) if shown["version"] is not None else []
    numbers = [each["version"] for each in versions]
    number = shown["version"]
    lines = []
    if number is not None and number - 1 in numbers:
        lines = (await gateway.service.file_difference(name, file, number - 1, number))["lines"]
    newest = max(numbers, default=None)
    return {"shown": shown, "asked": version, "versions": versions, "newest": newest, "lines": lines}


@router.post("/experts/{name}/state")
async def restore(name: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    visitor.require_admin("change experts")
    file, version = form.get("file", ""), form.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        raise UsageError("this form names no version", hint="load the page again")
    await gateway.service.restore(name, file, int(version))
    return redirect(expert_path(name, f"/state?file={quote(file, safe='')}"))


@router.get("/experts/{name}/learnings")
async def show_learnings(name: str, visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    about = await expert_brief(gateway, name)
    learnings = await gateway.service.learnings(name)
    return page("expert_learnings.html", visitor, expert=about, learnings=learnings, problem="")
