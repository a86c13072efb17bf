"""Runs on the page: the list, and one run with everything that was done for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from colleague.errors import UsageError
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.page.form import FormDep
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import VisitorDep
from colleague.run_document import ApprovalDocument, RunDocument
from colleague.store.lookup import full_id
from colleague.store.paging import Page
from colleague.store.report import brief_document
from colleague.store.run import Run
from colleague.store.run_filter import WORDS, RunFilter, filter_words, since_ms
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(include_in_schema=False)

ON_A_PAGE = 50
Short = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened in a run. `data` is what stands below it, one click away."""

    at: str | None
    what: str
    text: str
    state: str = ""
    data: Any = None
    took: str = ""


@router.get("/runs")
async def list_runs(
    visitor: VisitorDep,
    here: GatewayDep,
    status: Short = "",
    expert: Short = "",
    since: Short = "",
    until: Short = "",
    error: Short = "",
    after: Short = "",
) -> HTMLResponse:
    problem = ""

    def work(tx: Tx) -> Page[Run]:
        times = since_ms(since, tx.now), since_ms(until, tx.now)
        wanted = RunFilter(filter_words(status), expert, *times, error)
        start = full_id(tx, runs, "run", after) if after else None
        return wanted.page(tx, limit=ON_A_PAGE, after=start)

    try:
        found = await here.database.read(work)
    except UsageError as wrong:
        found, problem = Page([]), f"{wrong.message} ({wrong.hint})" if wrong.hint else wrong.message
    chosen = {"status": status, "expert": expert, "since": since, "until": until, "error": error}
    rows = [brief_document(run) for run in found.items]
    more: dict[str, Any] = {
        "next_after": found.next_after,
        "chosen": chosen,
        "words": WORDS,
        "problem": problem,
    }
    return page("runs.html", visitor, runs=rows, **more)


@router.get("/runs/{id}")
async def show_run(id: str, visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:  # noqa: A002
    return page("run.html", visitor, **await _shown(id, here))


@router.get("/runs/{id}/body")
async def show_body(id: str, visitor: VisitorDep, here: GatewayDep) -> HTMLResponse:  # noqa: A002
    """The part that loads again by itself."""
    return page("run_body.html", visitor, **await _shown(id, here))


@router.post("/runs/{id}")
async def act(id: str, visitor: VisitorDep, form: FormDep, here: GatewayDep) -> Response:  # noqa: A002
    run = await here.service.run(id)
    visitor.require_decider(run["expert"])
    if form.get("act") == "cancel":
        await here.service.cancel(
            run["id"], f"{visitor.name}: {form.get('note', '').strip() or 'from the page'}"
        )
        here.watchers.tell(run["id"], "run_status")
    elif form.get("act") == "retry":
        await here.service.retry(run["id"])
    return RedirectResponse(f"/runs/{run['id']}", 303, headers=dict(HEADERS))


async def _shown(ending: str, here: GatewayDep) -> dict[str, Any]:
    run = await here.service.run(ending)
    asked = [await here.service.approval(each) for each in run["approvals"]]
    return {"run": run, "timeline": timeline(run, asked)}


def timeline(run: RunDocument, asked: list[ApprovalDocument]) -> list[TimelineEntry]:
    """Everything in the order in which it began; what has no time yet comes last."""
    found = [TimelineEntry(run["created_at"], "event", "accepted", data=run["inputs"])]
    found += [
        TimelineEntry(
            each["started_at"], "attempt", f"attempt {each['number']}", each["outcome"] or "", each["error"]
        )
        for each in run["attempts"]
    ]
    found += [
        TimelineEntry(
            each["started_at"],
            "call",
            each["operation"],
            "failed" if each["is_error"] else each["status"],
            {"arguments": each["arguments"], "result": each["result"]},
            _took(each["started_at"], each["ended_at"]),
        )
        for each in run["calls"]
    ]
    found += [
        TimelineEntry(
            each["at"],
            "model",
            f"{each['model']}, {each['input_tokens'] or 0} tokens in, {each['output_tokens'] or 0} out",
            "" if each["outcome"] == "answered" else each["outcome"],
            each["error"],
            f"{each['seconds']:.1f} s",
        )
        for each in run["model_requests"]
    ]
    for each in asked:
        found.append(TimelineEntry(each["requested_at"], "question", each["operation"], each["status"]))
        if each["decided_at"]:
            text = f"{each['decision']} by {each['decided_by']}"
            found.append(TimelineEntry(each["decided_at"], "decision", text, data=each["note"]))
    told = [*([run["delivery"]] if run["delivery"] else []), *run["notices"]]
    found += [
        TimelineEntry(
            each["at"], "delivery", f"{each['kind']} to {each['channel']}", each["status"], each["body"]
        )
        for each in told
    ]
    if run["ended_at"]:
        found.append(TimelineEntry(run["ended_at"], "end", run["outcome"] or "done", data=run["error"]))
    return sorted(found, key=lambda each: (each.at is None, each.at or ""))


def _took(began: str | None, ended: str | None) -> str:
    if not began or not ended:
        return ""
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    return f"{seconds:.1f} s"
