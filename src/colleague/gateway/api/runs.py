"""Runs: what was done, what goes on, and stopping or trying it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from colleague.errors import UsageError
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, link_next
from colleague.gateway.schemas import AcceptedDocument, JsonObject, RequestBody, RetryAsked, RunStarted
from colleague.gateway.stream_options import StreamDep
from colleague.gateway.streams import EVENT_STREAM, run_stream
from colleague.run_document import RunBrief, RunDocument, RunOutcome
from colleague.runtime.requests import ForkRequest, RunRequest
from colleague.store.lookup import full_id
from colleague.store.paging import Page
from colleague.store.report import brief_document
from colleague.store.run import Run
from colleague.store.run_filter import WORDS, RunFilter, filter_words, since_ms
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(prefix="/api", tags=["runs"])

_STATUS = f"One or more of {', '.join(WORDS)}, with commas between"
_SINCE = "Accepted since: how long ago (2h), a date, or an ISO time"
T = TypeVar("T")


class RunAsked(RequestBody):
    """Either `task` or `process`."""

    task: Annotated[str, Field(max_length=100_000)] = ""
    process: Annotated[str, Field(max_length=200)] = ""
    inputs: JsonObject = Field(default_factory=dict)
    model: Annotated[str, Field(max_length=200)] = ""
    dry_run: bool | Literal["strict"] = False


class ForkAsked(RequestBody):
    """Without `model` the fork thinks with what the run was asked to think with."""

    from_step: int
    model: Annotated[str, Field(max_length=200)] = ""
    dry_run: bool | Literal["strict"] = False


class CancelAsked(RequestBody):
    note: Annotated[str, Field(max_length=10_000)] = "cancelled through the API"


class RunCancelled(BaseModel):
    run_id: str
    cancelled: bool


class RunResumed(BaseModel):
    run_id: str
    resumed: bool


@router.post(
    "/experts/{name}/runs",
    status_code=202,
    response_model=AcceptedDocument,
    responses=with_token(404, 409),
)
async def start(name: str, asked: RunAsked, gateway: GatewayDep) -> AcceptedDocument:
    """Have an expert do something: a task in words, or a process with its inputs."""
    wanted = (asked.task, asked.process, asked.inputs, asked.model, asked.dry_run)
    accepted = await gateway.service.start(RunRequest(name, *wanted))
    return AcceptedDocument(event_id=accepted.event_id, run_id=accepted.run_id, duplicate=accepted.duplicate)


@router.get("/runs", response_model=list[RunBrief], responses=with_token(404))
async def list_runs(
    gateway: GatewayDep,
    request: Request,
    response: Response,
    status: Annotated[str, Query(max_length=200, description=_STATUS)] = "",
    outcome: Annotated[RunOutcome | None, Query()] = None,
    expert: Annotated[str, Query(max_length=200)] = "",
    since: Annotated[str, Query(max_length=100, description=_SINCE)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[str | None, Query(max_length=100, description="The same as after")] = None,
    after: PageAfter = None,
) -> list[RunBrief]:
    """The newest first. The header Link has the next page, if there is one."""
    last = after or before
    words = _words(status, outcome)

    def work(tx: Tx) -> Page[Run]:
        wanted = RunFilter(words or (), expert, _asked(since_ms, since, tx.now))
        start = None if last is None else full_id(tx, runs, "run", last)
        return wanted.page(tx, limit=limit, after=start) if words is not None else Page([])

    page = await gateway.database.read(work)
    link_next(request, response, page)
    return [brief_document(run) for run in page.items]


def _words(status: str, outcome: RunOutcome | None) -> tuple[str, ...] | None:
    """What `status` and `outcome` leave together; None when they leave nothing."""
    words = _asked(filter_words, status)
    if outcome is None:
        return words
    return (outcome,) if not words or outcome in words or "done" in words else None


def _asked(read: Callable[..., T], *given: Any) -> T:
    """What a parameter says. Raises ApiError when it makes no sense."""
    try:
        return read(*given)
    except UsageError as error:
        raise ApiError(422, "bad-request", error.message, more={"hint": error.hint}) from None


@router.get("/runs/{id}", response_model=RunDocument, responses=with_token(404))
async def show(id: str, gateway: GatewayDep) -> RunDocument:  # noqa: A002 - as the contract calls it
    """Everything about one run."""
    return await gateway.service.run(id)


@router.post("/runs/{id}/cancel", response_model=RunCancelled, responses=with_token(404, 409))
async def cancel(id: str, gateway: GatewayDep, asked: CancelAsked | None = None) -> RunCancelled:  # noqa: A002
    """End a run at once. `cancelled` is false when it had ended already."""
    run_id = await gateway.database.read(lambda tx: full_id(tx, runs, "run", id))
    done = await gateway.service.cancel(run_id, (asked or CancelAsked()).note)
    gateway.watchers.tell(run_id, "run_status")
    return RunCancelled(run_id=run_id, cancelled=done)


@router.post("/runs/{id}/resume", response_model=RunResumed, responses=with_token(404, 409))
async def resume(id: str, gateway: GatewayDep) -> RunResumed:  # noqa: A002
    """Begin the next attempt now. `resumed` is false when the run does not pause between two attempts."""
    run_id = await gateway.database.read(lambda tx: full_id(tx, runs, "run", id))
    return RunResumed(run_id=run_id, resumed=await gateway.service.resume_run(run_id))


@router.post("/runs/{id}/retry", status_code=202, response_model=RunStarted, responses=with_token(404, 409))
async def retry(id: str, gateway: GatewayDep, asked: RetryAsked | None = None) -> RunStarted:  # noqa: A002
    """Try a run that ended badly again, with changes to its inputs."""
    return RunStarted(run_id=await gateway.service.retry(id, (asked or RetryAsked()).inputs))


@router.post(
    "/runs/{id}/fork", status_code=202, response_model=AcceptedDocument, responses=with_token(404, 409)
)
async def fork(id: str, gateway: GatewayDep, asked: ForkAsked) -> AcceptedDocument:  # noqa: A002
    """Begin a new run of the same work at a step of this one, which stays as it is."""
    made = await gateway.service.fork(ForkRequest(id, asked.from_step, asked.model, asked.dry_run))
    return AcceptedDocument(event_id=made.event_id, run_id=made.run_id, duplicate=made.duplicate)


@router.get(
    "/runs/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}, **with_token(404)},
)
async def events(id: str, gateway: GatewayDep, options: StreamDep) -> StreamingResponse:  # noqa: A002
    """What happens in a run as server-sent events, until it ends."""
    run_id = await gateway.database.read(lambda tx: full_id(tx, runs, "run", id))
    stream = run_stream(gateway.service, gateway.watchers, run_id, options)
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})
