"""What happens in runs, for whoever follows them: told by this process, else read from the store.

The store is the truth, the bus is only quicker. A follower who comes late, or who follows a run that another
process works on, is told the same answers and calls in the same order."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from colleague.agent.events import EventBus
from colleague.agent.streaming.answer import read_answer
from colleague.agent.streaming.payloads import message_end
from colleague.run_document import CallDocument, RunDocument
from colleague.run_event import Kind, RunEvent
from colleague.silent_answer import shown_answer
from colleague.store.report import AnswerText
from colleague.store.run import Run

LOOK_SECONDS = 1.0
MOST_WAITING = 2000
MOST_ANSWERS = 500
LOOKED_AT = (
    "message_start",
    "message_end",
    "approval_requested",
    "approval_decided",
    "run_status",
    "agent_end",
)
"""Events after which the store has news: calls that were refused without being made, and the run's status."""

Queue = asyncio.Queue[RunEvent | None]


@dataclass
class AnswerSoFar:
    """The answer that a run is writing, for who comes to follow it in the middle."""

    start: RunEvent
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)

    def take(self, event: RunEvent) -> None:
        if event.kind == "message_retry":
            self.text, self.thinking = [], []
            return
        if event.data.get("void"):
            self.text = []
        self.text.append(event.data.get("text", ""))
        self.thinking.append(event.data.get("thinking", ""))

    def events(self) -> Iterator[RunEvent]:
        """The same as if it had been heard from its beginning."""
        yield self.start
        for name, said in (("thinking", "".join(self.thinking)), ("text", "".join(self.text))):
            if said:
                yield RunEvent("message_update", self.start.run_id, {name: said})


class RunWatchers:
    """One watcher of the bus for all who follow. One who does not keep up misses text, nothing else.

    Text is missed up to the end of the message, which has all of it: what a follower has is always how the
    message begins."""

    def __init__(self, bus: EventBus) -> None:
        self._watching: dict[str, set[Queue]] = {}
        self._behind: set[Queue] = set()
        self._answers: dict[str, AnswerSoFar] = {}
        self._closed = False
        self.stop_watching = bus.watch(self._on_event)

    def tell(self, run_id: str, kind: Kind, **data: Any) -> None:
        self._on_event(RunEvent(kind, run_id, data))

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Ends everybody's following, and each that begins from now on after its first events."""
        self._closed = True
        for queues in self._watching.values():
            for queue in queues:
                queue.put_nowait(None)

    @contextlib.contextmanager
    def watching(self, run_id: str) -> Iterator[Queue]:
        queue: Queue = asyncio.Queue()
        if self._closed:
            queue.put_nowait(None)
        elif answer := self._answers.get(run_id):
            for event in answer.events():
                queue.put_nowait(event)
        self._watching.setdefault(run_id, set()).add(queue)
        try:
            yield queue
        finally:
            self._behind.discard(queue)
            self._watching[run_id].discard(queue)
            if not self._watching[run_id]:
                del self._watching[run_id]

    def _on_event(self, event: RunEvent) -> None:
        self._note_answer(event)
        for queue in self._watching.get(event.run_id, ()):
            if event.kind == "message_start":
                self._behind.discard(queue)
            if event.kind == "message_update" and (queue in self._behind or queue.qsize() >= MOST_WAITING):
                self._behind.add(queue)
            else:
                queue.put_nowait(event)

    def _note_answer(self, event: RunEvent) -> None:
        if event.kind == "message_start":
            self._answers[event.run_id] = AnswerSoFar(event)
            if len(self._answers) > MOST_ANSWERS:  # a run that was ended from outside tells no end
                self._answers.pop(next(iter(self._answers)))
        elif event.kind in ("message_update", "message_retry"):
            if answer := self._answers.get(event.run_id):
                answer.take(event)
        elif event.kind in ("message_end", "agent_end", "run_status"):
            self._answers.pop(event.run_id, None)


@dataclass(frozen=True)
class RunSnapshot:
    """A run as it is in the store. `answers` only of the main agent, whose words are told as it speaks."""

    document: RunDocument
    answers: Sequence[AnswerText] = ()

    @property
    def speaks(self) -> bool:
        return self.document["kind"] == "agent"

    def answers_before(self, call_id: str) -> int:
        """How many answers there were when this call was asked for."""
        found = (number for number, each in enumerate(self.answers, start=1) if call_id in each.call_ids)
        return next(found, 0)


@dataclass
class SentEvents:
    """Which calls were told to begin and to end, and how many answers were told, whoever told it."""

    answers: int = 0
    begun: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def passed_on(self, event: RunEvent) -> RunEvent | None:
        """The event as it is told; None when the store told it before the bus did."""
        call_id = str(event.data.get("call_id", ""))
        if event.kind == "tool_execution_start":
            return self._begin(call_id, event)
        if event.kind == "tool_execution_end":
            return self._end(call_id, event)
        return event

    def of(self, snapshot: RunSnapshot) -> Iterator[RunEvent]:
        """What the store has and was not told yet: answers, each before the calls it asks for. What a fork
        took over did not happen in it.

        A call that was refused at once is told when those before it in its session have had their turn."""
        document, under_way = snapshot.document, set[str]()
        for call in document["calls"]:
            yield from self._message_events(snapshot, snapshot.answers_before(call["id"]))
            if call["taken_from"]:
                continue
            settled = call["result"] is not None
            if call["status"] in ("allowed", "started") and not settled:
                under_way.add(call["session"])
            elif settled and call["session"] in under_way:
                continue
            if (call["status"] == "started" or settled) and call["id"] not in self.ended:
                yield from self._call_events(document["id"], call, settled=settled)
        yield from self._message_events(snapshot, len(snapshot.answers))

    def _message_events(self, snapshot: RunSnapshot, count: int) -> Iterator[RunEvent]:
        for answer in snapshot.answers[self.answers : count]:
            self.answers += 1
            said = message_end(read_answer(answer.text, answer.thinking))
            yield RunEvent("message_end", snapshot.document["id"], {**said})

    def _call_events(self, run_id: str, call: CallDocument, *, settled: bool) -> Iterator[RunEvent]:
        about = {"call_id": call["id"], "operation": call["operation"]}
        if call["started_at"] and call["id"] not in self.begun:
            self.begun[call["id"]] = time.monotonic()
            data = about | {"arguments": call["arguments"]}
            yield RunEvent("tool_execution_start", run_id, data)
        if settled:
            self.ended.add(call["id"])
            yield RunEvent("tool_execution_end", run_id, about | _end_data(call))

    def _begin(self, call_id: str, event: RunEvent) -> RunEvent | None:
        if call_id in self.begun or call_id in self.ended:
            return None
        self.begun[call_id] = time.monotonic()
        return event

    def _end(self, call_id: str, event: RunEvent) -> RunEvent | None:
        if call_id in self.ended:
            return None
        self.ended.add(call_id)
        began = self.begun.get(call_id)
        seconds = None if began is None else round(time.monotonic() - began, 3)
        return replace(event, data=event.data | {"seconds": seconds})


def _end_data(call: CallDocument) -> dict[str, Any]:
    result = call["result"] or {}
    return {
        "result": result.get("text", ""),
        "is_error": call["is_error"],
        "status": call["status"],
        "seconds": _seconds(call),
    }


def _seconds(call: CallDocument) -> float | None:
    if not call["started_at"] or not call["ended_at"]:
        return None
    began, ended = (datetime.fromisoformat(each) for each in (call["started_at"], call["ended_at"]))
    return (ended - began).total_seconds()


@dataclass(frozen=True)
class RunReader:
    """Reads one run: its row, which is cheap, or all of it."""

    row: Callable[[], Awaitable[Run]]
    snapshot: Callable[[], Awaitable[RunSnapshot]]


@dataclass
class RunFollower:
    """One follower of one run."""

    run_id: str
    look: RunReader
    news: SentEvents = field(default_factory=SentEvents)
    row: Run | None = None
    snapshot: RunSnapshot | None = None
    status: dict[str, Any] = field(default_factory=dict)
    told_already: bool = False
    """Whether the answer that the bus tells piece by piece was told whole, by the store."""
    works_here: bool = False
    """Whether the worker of this process tells of it, so that the store needs no look at every call."""

    @property
    def done(self) -> bool:
        return self.status.get("status") == "done"

    async def after(self, event: RunEvent) -> list[RunEvent]:
        """What is told when the bus tells this: the event itself, and what the store has beside it."""
        self.works_here = self.works_here or event.kind not in ("run_status", "approval_decided")
        if event.kind not in LOOKED_AT:
            return self._passed_on(event)
        news, status = await self.read()
        told = self._passed_on(event)
        return [*told, *news, *status] if event.kind == "message_end" else [*news, *told, *status]

    def _passed_on(self, event: RunEvent) -> list[RunEvent]:
        """The event, unless the store has told it, or tells it better."""
        speaks = self.snapshot is not None and self.snapshot.speaks
        if event.kind == "message_start":
            self.told_already = speaks and event.data["turn"] <= self.news.answers
        ours = event.kind == "run_status" or (event.kind == "message_end" and speaks)
        if ours or (self.told_already and event.kind in ("message_start", "message_update", "message_retry")):
            return []
        told = self.news.passed_on(event)
        return [] if told is None else [told]

    async def quiet(self) -> list[RunEvent]:
        """What the store has although the bus is silent: another process may be at work.

        A queued run is told how the one ahead of it stands, which its own row does not say."""
        row = await self.look.row()
        queues = row.status == "queued" and not row.ready
        if row == self.row and not queues and (row.status != "running" or self.works_here):
            return []
        self.row, self.works_here = row, False
        calls, status = await self.read()
        return [*calls, *status]

    async def read(self) -> tuple[list[RunEvent], list[RunEvent]]:
        """News of answers and calls, and of the run's status."""
        snapshot = self.snapshot = await self.look.snapshot()
        news, status = list(self.news.of(snapshot)), _status(snapshot.document)
        self.told_already = self.told_already or any(each.kind == "message_end" for each in news)
        if status == self.status:
            return news, []
        self.status = status
        return news, [RunEvent("run_status", self.run_id, status)]

    def last(self, events: list[RunEvent], queue: Queue) -> list[RunEvent]:
        """The end, with what the bus still had to tell of it before the status, which is the last event."""
        *earlier, status = events
        left = [queue.get_nowait() for _ in range(queue.qsize())]
        passed = [told for each in left if each is not None for told in self._passed_on(each)]
        if not any(each.kind == "agent_end" for each in (*earlier, *passed)):
            passed.append(RunEvent("agent_end", self.run_id, _end_of(self.snapshot)))
        return [*earlier, *passed, status]


async def run_events(
    run_id: str, look: RunReader, watchers: RunWatchers | None, *, look_seconds: float = LOOK_SECONDS
) -> AsyncGenerator[RunEvent | None]:
    """Begins with what has happened and ends with how the run ended, whoever works on it.

    None says that nothing happened for a while."""
    run = RunFollower(run_id, look)
    with watchers.watching(run_id) if watchers else contextlib.nullcontext(Queue()) as queue:
        for event in await run.quiet():
            yield event
        while not run.done:
            try:
                async with asyncio.timeout(look_seconds):
                    told = await queue.get()
            except TimeoutError:
                events = await run.quiet()
                if not events:
                    yield None
            else:
                events = await (run.quiet() if told is None else run.after(told))
                if told is None:
                    run.status = {"status": "done"}
            for event in run.last(events, queue) if _is_end(events) else events:
                yield event


def _is_end(events: list[RunEvent]) -> bool:
    return bool(events) and events[-1].kind == "run_status" and events[-1].data["status"] == "done"


def _end_of(snapshot: RunSnapshot | None) -> dict[str, Any]:
    if snapshot is None:
        return {}
    document = snapshot.document
    said = shown_answer(document["narrative"]).text if document["narrative"] else document["error"] or ""
    return {"outcome": document["outcome"], "text": said}


def _status(document: RunDocument) -> dict[str, Any]:
    return {
        "status": document["status"],
        "outcome": document["outcome"],
        "attempt": max((each["number"] for each in document["attempts"]), default=1),
        "error": document["error"] or _failed_attempt(document),
        "waiting_on": document["waiting_on"],
        "retry_at": document["retry_at"],
        "ahead": document["ahead"],
        "blocked_by": document["blocked_by"],
        "child_runs": document["child_runs"],
        "trouble": document["trouble"],
    }


def _failed_attempt(document: RunDocument) -> str | None:
    """Why a run that pauses between two attempts does so."""
    attempts = document["attempts"]
    return attempts[-1]["error"] if attempts and document["status"] == "retrying" else None
