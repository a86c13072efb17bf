"""Runs on the page: the list, and one run with everything that was done for it."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from colleague.errors import UsageError
from colleague.experts.runs.redacted_report import approval_report
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.render import page, redirect
from colleague.gateway.page.run_comparison import compared_calls, compared_facts, compared_steps
from colleague.gateway.page.timeline import RunFamily, timeline_page
from colleague.gateway.page.visitor import VisitorDep
from colleague.runtime.requests import ForkRequest
from colleague.store.approvals import get_approval
from colleague.store.lookup import full_id
from colleague.store.paging import Page
from colleague.store.report import brief_document
from colleague.store.run import Run
from colleague.store.run_filter import WORDS, RunFilter, filter_words, since_ms
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(include_in_schema=False)

ON_A_PAGE = 50
DEEPEST = 3
"""Runs of runs are folded in so deep; the rest is behind their links."""
MOST_CHILDREN = 20
Short = Annotated[str, Query(max_length=200)]
EntryNumber = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


@router.get("/runs")
async def list_runs(
    visitor: VisitorDep,
    gateway: GatewayDep,
    status: Short = "",
    expert: Short = "",
    since: Short = "",
    until: Short = "",
    error: Short = "",
    q: Short = "",
    after: Short = "",
) -> HTMLResponse:
    """The newest first."""
    problem = ""

    def work(tx: Tx) -> Page[Run]:
        times = since_ms(since, tx.now), since_ms(until, tx.now)
        wanted = RunFilter(filter_words(status), expert, *times, error, q.strip())
        start = full_id(tx, runs, "run", after) if after else None
        return wanted.page(tx, limit=ON_A_PAGE, after=start)

    try:
        found = await gateway.database.read(work)
    except UsageError as wrong:
        found, problem = Page([]), wrong.sentence
    chosen = {"q": q, "status": status, "expert": expert, "since": since, "until": until, "error": error}
    older = urlencode({**chosen, "after": found.next_after}) if found.next_after else ""
    rows = [brief_document(run) for run in found.items]
    more: dict[str, Any] = {
        "here": urlencode({**chosen, "after": after}),
        "older": older,
        "chosen": chosen,
        "words": WORDS,
        "problem": problem,
    }
    return page("runs.html", visitor, runs=rows, **more)


@router.get("/runs/-/compare")
async def compare(
    visitor: VisitorDep,
    gateway: GatewayDep,
    run: Annotated[list[str] | None, Query(max_length=10)] = None,
) -> HTMLResponse:
    """Two runs side by side; of more the first two."""
    chosen = [each for each in run or [] if each.strip()]
    if len(chosen) < 2:
        raise UsageError("choose two runs to compare", hint="mark them in the list")
    one, other = [await gateway.service.run(each.strip()) for each in chosen[:2]]
    data: dict[str, Any] = {
        "facts": compared_facts(one, other),
        "steps": compared_steps(one, other),
        "calls": compared_calls(one, other),
    }
    return page("runs_compared.html", visitor, one=one, other=other, **data)


@router.get("/runs/{id}")
async def show_run(
    id: str,  # noqa: A002
    visitor: VisitorDep,
    gateway: GatewayDep,
    session: Short = "",
    to: EntryNumber = None,
) -> HTMLResponse:
    """`session` is one of the sessions within it, `to` the last entry of its timeline that is shown."""
    return page("run.html", visitor, **await _timeline_data(id, gateway, session, to))


@router.get("/runs/{id}/body")
async def show_body(
    id: str,  # noqa: A002
    visitor: VisitorDep,
    gateway: GatewayDep,
    session: Short = "",
    to: EntryNumber = None,
) -> HTMLResponse:
    """The part that loads again by itself."""
    return page("run_body.html", visitor, **await _timeline_data(id, gateway, session, to))


@router.post("/runs/{id}")
async def act(id: str, visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:  # noqa: A002
    run = await gateway.service.run(id)
    visitor.require_decider(run["expert"])
    if form.get("act") == "cancel":
        await gateway.service.cancel(
            run["id"], f"{visitor.name}: {form.get('note', '').strip() or 'from the page'}"
        )
        gateway.watchers.tell(run["id"], "run_status")
    elif form.get("act") == "retry":
        await gateway.service.retry(run["id"])
    elif form.get("act") == "resume":
        await gateway.service.resume_run(run["id"])
    elif form.get("act") == "fork":
        made = await gateway.service.fork(ForkRequest(run["id"], _step_number(form)))
        return redirect(f"/runs/{made.run_id}")
    return redirect(f"/runs/{run['id']}")


def _step_number(form: Form) -> int:
    """Raises UsageError for what is no number."""
    try:
        return int(form.get("step", ""))
    except ValueError:
        raise UsageError("a fork begins at a step, which is a number", hint="choose a step") from None


async def _timeline_data(ending: str, gateway: Gateway, session: str, to: int | None) -> dict[str, Any]:
    family = await run_family(gateway, ending)
    chosen = {**({"session": session} if session else {}), **({"to": to} if to is not None else {})}
    shown = timeline_page(family, session, to)
    return {"run": family.run, "timeline": shown, "chosen": urlencode(chosen)}


async def run_family(gateway: Gateway, ending: str, depth: int = DEEPEST) -> RunFamily:
    """A run, its questions, and the first of the runs that it handed work to."""
    run = await gateway.service.run(ending)
    asked = await gateway.database.read(
        lambda tx: [approval_report(tx, gateway.home, get_approval(tx, each)) for each in run["approvals"]]
    )
    below = run["child_runs"][:MOST_CHILDREN] if depth else []
    return RunFamily(run, asked, [await run_family(gateway, each, depth - 1) for each in below])
