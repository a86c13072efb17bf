"""What was said in a thread of a channel before an agent came into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from colleague.agent.conversation import Content
from colleague.agent.opening import OpeningMessages
from colleague.agent.render import wrapped
from colleague.session_key import SessionKey
from colleague.store.chat_answers import ChatTarget
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry

BEFORE = "[This conversation is in the middle of a thread. What was said in it before:]"


class ThreadHistory(Protocol):
    """Reads threads on the channels that can."""

    async def earlier(self, entry: SessionEntry, target: ChatTarget) -> str:
        """The last messages there, a line each, without the one that is answered; empty when there are none,
        or they cannot be read."""
        ...


@dataclass(frozen=True)
class ThreadOpening:
    """The first message of a thread, after what was said before it, as data."""

    opening: OpeningMessages
    history: ThreadHistory
    entry: SessionEntry
    target: ChatTarget

    async def first(self, run: Run) -> Content:
        said = await self.opening.first(run)
        earlier = await self.history.earlier(self.entry, self.target)
        if not earlier:
            return said
        before = f"{BEFORE}\n{wrapped(earlier, f'channel:{self.target.channel}')}"
        return f"{before}\n\n{said}" if isinstance(said, str) else [before, *said]

    async def again(self, run: Run, error: str) -> str:
        return await self.opening.again(run, error)


def with_thread_history(
    opening: OpeningMessages, history: ThreadHistory | None, entry: SessionEntry, target: ChatTarget | None
) -> OpeningMessages:
    """Only where the session begins: later turns know what was said."""
    begins = entry.positions <= 1 and SessionKey.parse(entry.key).thread_id is not None
    if history is None or target is None or not target.thread or not begins:
        return opening
    return ThreadOpening(opening, history, entry, target)
