"""What happens in a run, as server-sent events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator

from colleague.run_event import RunEvent
from colleague.runtime.local_service import LocalService
from colleague.runtime.run_events import RunWatchers

BEATS = 14
"""A comment is sent after so many looks without news, so that nobody in between takes the line for dead."""


async def run_stream(service: LocalService, watchers: RunWatchers, run_id: str) -> AsyncIterator[str]:
    """Begins with what has happened and ends with how the run ended, whoever works on it."""
    silent = 0
    events = service.events(run_id, watchers)
    async with contextlib.aclosing(events):
        async for event in events:
            silent = 0 if event else silent + 1
            if event is not None:
                yield _text(event)
            elif silent % BEATS == 0:
                yield ": still here\n\n"


def _text(event: RunEvent) -> str:
    body = {"type": event.kind, "run_id": event.run_id, **event.data}
    return f"event: {event.kind}\ndata: {json.dumps(body, ensure_ascii=False, default=str)}\n\n"
