"""What happens in a run or a session, as server-sent events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Any

from colleague.event_subscription import BlockStreaming, Callbacks, EventSubscription, ReplyPart
from colleague.run_document import ReasoningMode, VerboseLevel
from colleague.run_event import RunEvent
from colleague.runtime.local_service import LocalService
from colleague.runtime.run_events import RunWatchers
from colleague.session_event import STORED, SessionEvent

EVENT_STREAM = "text/event-stream"
BEATS = 14
"""A comment is sent after so many looks without news, so that nobody in between takes the line for dead."""
STILL_HERE = ": still here\n\n"


@dataclass(frozen=True)
class EventStreamOptions:
    """What whoever listens wants: all, or less of what is thought and done; and answers in blocks, too."""

    reasoning: ReasoningMode = "stream"
    verbose: VerboseLevel = "full"
    blocks: BlockStreaming | None = None


@dataclass
class _Listener:
    """One subscription, and what it was told since it was last asked."""

    options: EventStreamOptions
    told: list[RunEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        blocks = self.options.blocks
        callbacks = Callbacks(on_agent_event=self.told.append, on_block_reply=self._block if blocks else None)
        self._run_id = ""
        self._subscription = EventSubscription(
            callbacks, reasoning=self.options.reasoning, verbose=self.options.verbose, blocks=blocks
        )

    def _block(self, part: ReplyPart) -> None:
        block = asdict(part) | {"media": list(part.media)}
        self.told.append(RunEvent("block_reply", self._run_id, block))

    def take(self, event: RunEvent | None) -> list[RunEvent]:
        """What is sent now; None says that nothing happens."""
        self.told.clear()
        if event is None:
            self._subscription.idle()
        else:
            self._run_id = event.run_id
            self._subscription.take(event)
        return self.told


async def run_stream(
    service: LocalService, watchers: RunWatchers, run_id: str, options: EventStreamOptions | None = None
) -> AsyncIterator[str]:
    """Begins with what has happened and ends with how the run ended, whoever works on it."""
    listener = _Listener(options or EventStreamOptions())
    async with contextlib.aclosing(service.events(run_id, watchers)) as events:
        silent = 0
        async for event in events:
            silent = 0 if event else silent + 1
            for told in listener.take(event):
                yield event_text(told.kind, {"run_id": told.run_id, **told.data})
            if silent and silent % BEATS == 0:
                yield STILL_HERE


async def session_stream(
    events: AsyncGenerator[SessionEvent | None], options: EventStreamOptions | None = None
) -> AsyncIterator[str]:
    """Until the caller goes away; the id of a stored item is its position."""
    listener = _Listener(options or EventStreamOptions())
    async with contextlib.aclosing(events):
        silent = 0
        async for event in events:
            silent = 0 if event else silent + 1
            if event is not None and event.kind in STORED:
                yield event_text(event.kind, event.data, event.position)
                continue
            for told in listener.take(event.as_run_event() if event else None):
                yield event_text(told.kind, {"run_id": told.run_id, **told.data})
            if silent and silent % BEATS == 0:
                yield STILL_HERE


def event_text(kind: str, data: dict[str, Any], number: int | None = None) -> str:
    """One server-sent event."""
    identity = f"id: {number}\n" if number is not None else ""
    body = json.dumps({"type": kind, **data}, ensure_ascii=False, default=str)
    return f"{identity}event: {kind}\ndata: {body}\n\n"
