"""The audit log on the page: searched, filtered, in pages, and as a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse, StreamingResponse

from colleague.audit_document import AuditEntry
from colleague.errors import ColleagueError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import VisitorDep
from colleague.runtime.requests import AuditQuery

router = APIRouter(prefix="/settings", include_in_schema=False)

ON_A_PAGE = 50
AT_ONCE = 1_000
NOUNS = (
    *("approval", "auth", "canvas", "database", "deadletter", "expert", "grant", "model", "person"),
    *("plugin", "run", "server", "session", "state", "trigger"),
)
COLUMNS = ("at", "who", "source", "address", "action", "subject", "expert", "run_id", "detail", "id")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
FilterText = Annotated[str, Query(max_length=200)]


def asked(
    who: FilterText = "",
    action: FilterText = "",
    expert: FilterText = "",
    text: FilterText = "",
    since: FilterText = "",
    until: FilterText = "",
    after: FilterText = "",
) -> AuditQuery:
    return AuditQuery(who, action, expert, text, since, until, ON_A_PAGE, after)


QueryDep = Annotated[AuditQuery, Depends(asked)]


@router.get("/audit")
async def show_audit(visitor: VisitorDep, query: QueryDep, gateway: GatewayDep) -> HTMLResponse:
    problem, entries, next_after = "", list[AuditEntry](), None
    try:
        found = await gateway.service.audit(query)
        entries, next_after = found["entries"], found["next_after"]
    except ColleagueError as error:
        problem = error.sentence
    chosen = {name: value for name, value in asdict(query).items() if name not in ("limit", "after")}
    about: dict[str, Any] = {"chosen": chosen, "nouns": NOUNS, "next_after": next_after, "problem": problem}
    return page("settings_audit.html", visitor, entries=entries, **about)


@router.get("/audit.csv")
async def export_csv(_: VisitorDep, query: QueryDep, gateway: GatewayDep) -> StreamingResponse:
    await gateway.service.audit(query)  # what is wrong with the filters is said before the file begins
    return _file(_csv(gateway, query), "text/csv; charset=utf-8", "audit.csv")


@router.get("/audit.json")
async def export_json(_: VisitorDep, query: QueryDep, gateway: GatewayDep) -> StreamingResponse:
    await gateway.service.audit(query)
    return _file(_json(gateway, query), "application/json", "audit.json")


def _file(parts: AsyncIterator[str], kind: str, name: str) -> StreamingResponse:
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(parts, media_type=kind, headers=headers)


async def _pages(gateway: Gateway, query: AuditQuery) -> AsyncIterator[list[AuditEntry]]:
    """All of it, a part at a time."""
    wanted = replace(query, limit=AT_ONCE, after="")
    while True:
        found = await gateway.service.audit(wanted)
        yield found["entries"]
        if found["next_after"] is None:
            return
        wanted = replace(wanted, after=found["next_after"])


async def _csv(gateway: Gateway, query: AuditQuery) -> AsyncIterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    async for entries in _pages(gateway, query):
        written = io.StringIO()
        csv.writer(written).writerows([_cell(each, name) for name in COLUMNS] for each in entries)
        yield written.getvalue()


def _cell(entry: AuditEntry, name: str) -> str:
    value = entry[name]  # type: ignore[literal-required]
    if name == "detail":
        value = json.dumps(value, ensure_ascii=False) if value else ""
    text = str(value or "")
    return f"'{text}" if text.startswith(_FORMULAS) else text  # a spreadsheet would compute it


async def _json(gateway: Gateway, query: AuditQuery) -> AsyncIterator[str]:
    begin = "["
    async for entries in _pages(gateway, query):
        if entries:
            yield begin + ",\n".join(json.dumps(each, ensure_ascii=False) for each in entries)
            begin = ",\n"
    yield "]\n" if begin != "[" else "[]\n"
