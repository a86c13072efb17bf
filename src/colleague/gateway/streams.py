"""What happens in a run or a session, as server-sent events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from colleague.runtime.local_service import LocalService
from colleague.runtime.run_events import RunWatchers
from colleague.session_event import STORED, SessionEvent

EVENT_STREAM = "text/event-stream"
BEATS = 14
"""A comment is sent after so many looks without news, so that nobody in between takes the line for dead."""
STILL_HERE = ": still here\n\n"


async def run_stream(service: LocalService, watchers: RunWatchers, run_id: str) -> AsyncIterator[str]:
    """Begins with what has happened and ends with how the run ended, whoever works on it."""
    async with contextlib.aclosing(service.events(run_id, watchers)) as events:
        silent = 0
        async for event in events:
            silent = 0 if event else silent + 1
            if event is not None:
                yield event_text(event.kind, {"run_id": event.run_id, **event.data})
            elif silent % BEATS == 0:
                yield STILL_HERE


async def session_stream(events: AsyncGenerator[SessionEvent | None]) -> AsyncIterator[str]:
    """Until the caller goes away; the id of a stored item is its position."""
    async with contextlib.aclosing(events):
        silent = 0
        async for event in events:
            silent = 0 if event else silent + 1
            if event is not None:
                run = {} if event.kind in STORED else {"run_id": event.run_id}
                yield event_text(event.kind, {**run, **event.data}, event.position)
            elif silent % BEATS == 0:
                yield STILL_HERE


def event_text(kind: str, data: dict[str, Any], number: int | None = None) -> str:
    """One server-sent event."""
    identity = f"id: {number}\n" if number is not None else ""
    body = json.dumps({"type": kind, **data}, ensure_ascii=False, default=str)
    return f"{identity}event: {kind}\ndata: {body}\n\n"
