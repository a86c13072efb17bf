"""What happens in runs, for whoever watches over HTTP: server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from colleague.agent.events import Bus, Event
from colleague.store.run import Run, get_run
from colleague.store.tx import Database

LOOK_EVERY = 2.0
MOST_WAITING = 2000
BEATS = 7
"""A comment is sent after so many looks without news, so that nobody in between takes the line for dead."""

Item = tuple[str, dict[str, Any]]


class Streams:
    """One watcher of the bus for all who watch. One who does not keep up is left behind, never waited for."""

    def __init__(self, bus: Bus) -> None:
        self._watching: dict[str, set[asyncio.Queue[Item | None]]] = {}
        self._closed = False
        self.stop_watching = bus.watch(self._on_event)

    def tell(self, run_id: str, kind: str, **data: Any) -> None:
        for queue in self._watching.get(run_id, ()):
            if queue.qsize() < MOST_WAITING:
                queue.put_nowait((kind, data))

    def close(self) -> None:
        """Ends every stream, and each that begins from now on after its first event."""
        self._closed = True
        for queues in self._watching.values():
            for queue in queues:
                queue.put_nowait(None)

    @contextlib.contextmanager
    def watching(self, run_id: str) -> Iterator[asyncio.Queue[Item | None]]:
        queue: asyncio.Queue[Item | None] = asyncio.Queue()
        if self._closed:
            queue.put_nowait(None)
        self._watching.setdefault(run_id, set()).add(queue)
        try:
            yield queue
        finally:
            self._watching[run_id].discard(queue)
            if not self._watching[run_id]:
                del self._watching[run_id]

    def _on_event(self, event: Event) -> None:
        self.tell(event.run_id, event.kind, **event.data)


async def run_stream(streams: Streams, database: Database, run_id: str) -> AsyncIterator[str]:
    """Begins with how the run stands and ends with how it ended, whoever works on it."""
    with streams.watching(run_id) as queue:
        run = await database.read(lambda tx: get_run(tx, run_id))
        shown = _status(run)
        yield _event("run_status", run_id, shown)
        silent = 0
        while run.status != "done":
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    item = await queue.get()
            except TimeoutError:
                silent += 1
                if silent % BEATS == 0:
                    yield ": still here\n\n"
            else:
                if item is None:
                    return
                silent = 0
                kind, data = item
                if kind != "run_status":
                    yield _event(kind, run_id, data)
                    if kind != "agent_end":
                        continue
            run = await database.read(lambda tx: get_run(tx, run_id))
            if _status(run) != shown:
                shown = _status(run)
                yield _event("run_status", run_id, shown)


def _status(run: Run) -> dict[str, Any]:
    return {"status": run.status, "outcome": run.outcome, "attempt": run.attempt, "error": run.error}


def _event(kind: str, run_id: str, data: dict[str, Any]) -> str:
    body = json.dumps({"type": kind, "run_id": run_id, **data}, ensure_ascii=False, default=str)
    return f"event: {kind}\ndata: {body}\n\n"
