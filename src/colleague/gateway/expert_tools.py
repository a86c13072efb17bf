"""The tools that other programs get over MCP: every enabled expert, the outcome of a run, open questions.

Questions can be read here and never decided: whoever decides is a person, not a program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from colleague.argument_check import misfits
from colleague.errors import NotFound, UsageError
from colleague.experts.expert import Expert, listed_experts
from colleague.home import Home
from colleague.run_document import ApprovalDocument, RunDocument, short
from colleague.run_event import RunEvent
from colleague.runtime.requests import RunRequest
from colleague.runtime.service import Service

PREFIX = "expert_"
OUTCOME, APPROVALS = "run_outcome", "approvals_waiting"
WAIT_SECONDS, MOST_WAIT_SECONDS = 60, 3600
LONGEST_DESCRIPTION = 1_000
_WAIT = {
    "type": "integer",
    "minimum": 0,
    "maximum": MOST_WAIT_SECONDS,
    "description": f"Seconds to wait for its end; 0 returns at once. {WAIT_SECONDS} when left out.",
}

OpenService = Callable[[], AbstractAsyncContextManager[Service]]
Tell = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class ExpertTool:
    """One tool as a client of ours sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool = False


@dataclass(frozen=True)
class ExpertTools:
    """What can be called. `service` is opened for each call, so that an idle server holds no home."""

    home: Home
    service: OpenService
    looking: OpenService
    """The same for calls that only look, which need no home of their own."""
    served: Callable[[], bool]
    """Whether somebody works on runs that nobody waits for."""

    async def offered(self) -> list[ExpertTool]:
        experts = await asyncio.to_thread(_enabled, self.home)
        return [*(_expert_tool(each) for each in experts), _OUTCOME, _APPROVALS]

    async def call(self, name: str, arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """The answer as a document. Raises ColleagueError with a sentence."""
        found = next((each for each in await self.offered() if each.name == name), None)
        if found is None:
            raise NotFound(
                f"there is no tool {name!r}", hint="list the tools again; an expert may be disabled"
            )
        if problems := misfits(found.parameters, dict(arguments)):
            raise UsageError(f"the arguments of {name} do not fit: {'; '.join(problems)}")
        looks = name == APPROVALS or (name == OUTCOME and not arguments.get("wait_seconds"))
        async with self.looking() if looks else self.service() as service:
            if name == APPROVALS:
                return {"approvals": [_question(each) for each in await service.pending()]}
            if name == OUTCOME:
                return await self._outcome(service, arguments["run"], arguments.get("wait_seconds", 0), tell)
            return await self._start(service, name.removeprefix(PREFIX), arguments, tell)

    async def _start(
        self, service: Service, expert: str, arguments: Mapping[str, Any], tell: Tell
    ) -> dict[str, Any]:
        task, process = arguments.get("task", ""), arguments.get("process", "")
        inputs = arguments.get("inputs", {})
        accepted = await service.start(RunRequest(expert, task, process, inputs))
        if accepted.run_id is None:
            return {"event": accepted.event_id, "status": "held"}
        await tell(f"run {short(accepted.run_id)} is stored")
        seconds = arguments.get("wait_seconds", WAIT_SECONDS)
        return await self._outcome(service, accepted.run_id, seconds, tell)

    async def _outcome(self, service: Service, run: str, seconds: int, tell: Tell) -> dict[str, Any]:
        document = await service.run(run)
        if seconds and document["status"] != "done":
            await _wait(service, document["id"], seconds, tell)
            document = await service.run(document["id"])
        asked = [await service.approval(each) for each in document["waiting_on"]]
        return _outcome(document, asked, served=self.served())


async def _wait(service: Service, run_id: str, seconds: int, tell: Tell) -> None:
    """Until the run is done, waits for a person, or the time is up; it goes on in any case."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), contextlib.aclosing(service.follow([run_id])) as events:
            async for event in events:
                if text := _progress(event):
                    await tell(text)


def _progress(event: RunEvent) -> str:
    """Names and states only: what tools and people say is in the outcome."""
    if event.kind == "tool_execution_start":
        return f"calls {event.data['operation']}"
    if event.kind == "run_status":
        return f"is {event.data['status']}"
    return ""


def _outcome(document: RunDocument, asked: list[ApprovalDocument], *, served: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "run": document["id"],
        "expert": document["expert"],
        "process": document["process"],
        "status": document["status"],
        "outcome": document["outcome"],
        "text": document["narrative"],
        "outputs": document["outputs"],
        "error": document["error"],
        "approvals": [_question(each) for each in asked],
    }
    if hint := _hint(document, served=served):
        found["hint"] = hint
    return found


def _hint(document: RunDocument, *, served: bool) -> str:
    if document["waiting_on"]:
        return "a person decides: colleague approval list; then ask for the outcome again"
    if document["status"] == "done":
        return ""
    if served:
        return f"it goes on; ask with {OUTCOME}"
    return f"nobody works on it now: start colleague serve, or ask with {OUTCOME} and wait_seconds"


def _question(approval: ApprovalDocument) -> dict[str, Any]:
    wanted = ("id", "kind", "expert", "process", "run_id", "operation", "arguments", "reasoning")
    when = ("status", "requested_at", "expires_at", "behind")
    return {key: value for key, value in approval.items() if key in (*wanted, *when)}


def _enabled(home: Home) -> list[Expert]:
    return [each for each in listed_experts(home) if each.record.enabled]


def _expert_tool(expert: Expert) -> ExpertTool:
    package = expert.read().package
    processes = package.processes if package else ()
    about = package.manifest.description if package else "its package cannot be read"
    offered = "".join(f"\n- {each.name}: {each.description}" for each in processes)
    known = f"\nProcesses:{offered}" if offered else ""
    properties: dict[str, Any] = {
        "task": {"type": "string", "description": "What it is to do, in words. Or name a process."},
        "inputs": {"type": "object", "description": "The inputs of the process."},
        "wait_seconds": _WAIT,
    }
    if processes:
        properties["process"] = {"type": "string", "enum": [each.name for each in processes]}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return ExpertTool(f"{PREFIX}{expert.name}", f"{about}{known}"[:LONGEST_DESCRIPTION], schema)


_OUTCOME = ExpertTool(
    OUTCOME,
    "How a run stands: status, outcome, text, outputs, and what it asks a person.",
    {
        "type": "object",
        "properties": {"run": {"type": "string", "description": "Its id."}, "wait_seconds": _WAIT},
        "required": ["run"],
        "additionalProperties": False,
    },
    read_only=True,
)
_APPROVALS = ExpertTool(
    APPROVALS,
    "Questions that wait for a person. They can be read here, not decided.",
    {"type": "object", "properties": {}, "additionalProperties": False},
    read_only=True,
)


class SharedService:
    """One service for all calls at once. Closed when nobody uses it, so that other commands get the home."""

    def __init__(self, opening: OpenService) -> None:
        self._opening = opening
        self._users = 0
        self._owner: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[Service] | None = None
        self._unused = asyncio.Event()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Service]:
        while self._owner is not None and self._unused.is_set():
            await asyncio.wait({self._owner})
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._unused.clear()
            self._owner = asyncio.create_task(self._own(self._opened))
        self._users += 1
        try:
            yield await asyncio.shield(self._opened)
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def _own(self, opened: asyncio.Future[Service]) -> None:
        """A task of its own enters and leaves: callers may be cancelled."""
        try:
            async with self._opening() as service:
                opened.set_result(service)
                await self._unused.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._opened = self._owner = None
