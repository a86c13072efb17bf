"""What happens in a session, for whoever watches it: its items and status from the store, and the events of
its runs, one run after another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from colleague.run_event import RunEvent
from colleague.runtime.session_news import LOOK_SECONDS, SessionNews
from colleague.session_document import ItemDocument, SessionDocument
from colleague.session_event import SessionEvent

MOST_ITEMS = 200
_STATUS = ("key", "session_id", "label", "status", "run_id", "parked", "child_questions", "waiting")
_Told = SessionEvent | BaseException | None


@dataclass(frozen=True)
class SessionLook:
    """A session at one moment, with the items after a position."""

    document: SessionDocument
    items: list[ItemDocument]

    @property
    def status(self) -> dict[str, Any]:
        return {name: value for name, value in self.document.items() if name in _STATUS}

    @property
    def runs(self) -> list[str]:
        """The runs of these items and the one at work, in order."""
        found = [each["run_id"] for each in self.items] + [self.document["run_id"]]
        return [each for each in dict.fromkeys(found) if each]


@dataclass(frozen=True)
class SessionSource:
    """Where a watcher reads a session, and follows its runs."""

    look: Callable[[int], Awaitable[SessionLook]]
    run_events: Callable[[str], AsyncGenerator[RunEvent | None]]
    news: SessionNews
    is_closed: Callable[[], bool]
    """Whether this process stops, which ends all watching."""


@dataclass
class SessionWatching:
    """One watcher of one session. What is found goes to `told`."""

    source: SessionSource
    position: int
    told: asyncio.Queue[_Told] = field(default_factory=asyncio.Queue)
    status: dict[str, Any] = field(default_factory=dict)
    _runs: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    _known: set[str] = field(default_factory=set)

    async def look_on(self) -> None:
        """Runs that had ended before the first look are told by their items alone."""
        look = await self.source.look(self.position)
        self._known |= {run_id for run_id in look.runs if run_id != look.document["run_id"]}
        await self._tell(look)
        while True:
            if len(look.items) == MOST_ITEMS or await self.source.news.wait(LOOK_SECONDS):
                look = await self.source.look(self.position)
                await self._tell(look)

    async def _tell(self, look: SessionLook) -> None:
        for item in look.items:
            self.position = item["position"]
            self.told.put_nowait(SessionEvent("message", dict(item), item["run_id"], item["position"]))
        for run_id in look.runs:
            if run_id not in self._known:
                self._known.add(run_id)
                self._runs.put_nowait(run_id)
        if look.document["run_id"] is None:
            await self._runs.join()  # the end of a run is told before the rest that follows it
        if look.status != self.status:
            self.status = look.status
            data = {**look.status, "positions": look.document["positions"]}
            self.told.put_nowait(SessionEvent("session_status", data, look.document["run_id"]))

    async def follow_runs(self) -> None:
        """One run after another, as they have the session's lane."""
        while True:
            run_id = await self._runs.get()
            async with contextlib.aclosing(self.source.run_events(run_id)) as events:
                async for event in events:
                    if event is not None:
                        self.told.put_nowait(SessionEvent(event.kind, event.data, event.run_id))
            self._runs.task_done()


async def session_events(source: SessionSource, after: int) -> AsyncGenerator[SessionEvent | None]:
    """Begins with the items after a position and how the session stands; goes on until it is closed.

    None says that nothing happened for a while."""
    watching = SessionWatching(source, after)
    tasks = [asyncio.create_task(each) for each in (watching.look_on(), watching.follow_runs())]
    for task in tasks:
        task.add_done_callback(lambda done: _tell_failure(watching.told, done))
    try:
        while not source.is_closed():
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    told = await watching.told.get()
            except TimeoutError:
                told = None
            if isinstance(told, BaseException):
                raise told
            yield told
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _tell_failure(told: asyncio.Queue[_Told], task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        told.put_nowait(error)
