"""Following the runs of a process: the one door to traces."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.agent.tracing.guard import guarded
from colleague.agent.tracing.notice import notice
from colleague.agent.tracing.record import Cleaner
from colleague.agent.tracing.run_trace import ChatTraces, RunTrace
from colleague.agent.tracing.sinks import TraceSinks
from colleague.agent.tracing.spans import SpanExport, open_spans
from colleague.agent.tracing.switches import TraceSwitches

if TYPE_CHECKING:
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.session import Session
    from colleague.run_event import RunEvent
    from colleague.store.run import Run


class Tracer:
    """Knows the runs that are worked on now. Whatever fails in here stops no run."""

    def __init__(self, sinks: TraceSinks | None = None, spans: SpanExport | None = None) -> None:
        self._sinks = sinks or TraceSinks()
        self._spans = spans
        self._runs: dict[str, RunTrace] = {}

    @contextlib.contextmanager
    def run(self, run: Run) -> Iterator[None]:
        """Follows a run while the block lasts."""
        trace = self._begin(run)
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._leave(trace, error)

    @guarded
    def _begin(self, run: Run) -> RunTrace | None:
        if self._sinks.writer is None and self._spans is None:
            return None
        spans = self._spans.run(run, Cleaner()) if self._spans else None
        trace = self._runs[run.id] = RunTrace(run, self._sinks, spans)
        trace.begin()
        return trace

    @guarded
    def _leave(self, trace: RunTrace | None, error: BaseException | None) -> None:
        if trace is not None:
            self._runs.pop(trace.run.id, None)
            trace.leave(error)

    @guarded
    def on_event(self, event: RunEvent) -> None:
        """A watcher of the bus."""
        if trace := self._runs.get(event.run_id):
            trace.event(event)

    @guarded
    def joins(self, session: Session) -> None:
        """A session of a run begins: what it may not tell counts from now on."""
        if trace := self._runs.get(session.run_id):
            trace.joins(session)

    @guarded
    def request(self, session: Session, request: ThinkRequest) -> ChatTraces | None:
        """Who looks on while this is asked; None when nobody does."""
        trace = self._runs.get(session.run_id)
        return trace.asks(session, request) if trace else None

    def flush(self) -> bool:
        """Waits until what was traced so far is written."""
        return self._sinks.flush()

    def close(self) -> None:
        self._sinks.close()
        if self._spans is not None:
            self._spans.close()


def open_tracer(switches: TraceSwitches, *, keep_seconds: float | None = None) -> Tracer:
    """As the switches say. To be closed, so that nothing of it is lost."""
    for problem in switches.problems:
        notice(problem)
    return Tracer(TraceSinks.of(switches, keep_seconds=keep_seconds), open_spans() if switches.otel else None)


@contextlib.asynccontextmanager
async def tracing(logs: Path, environ: Mapping[str, str], *, keep_seconds: float) -> AsyncIterator[Tracer]:
    """What a process writes while it works on a home."""
    tracer = open_tracer(TraceSwitches.of(logs, environ), keep_seconds=keep_seconds)
    try:
        yield tracer
    finally:
        await asyncio.to_thread(tracer.close)
