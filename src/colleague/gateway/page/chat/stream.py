"""What happens in a conversation, as parts of the page that is open: told once, and never asked for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from colleague.gateway.gateway import Gateway
from colleague.gateway.page.chat.conversation import ShownConversation, reader_of
from colleague.gateway.page.chat.items import ShownItem
from colleague.gateway.page.chat.live_turn import LiveTurn
from colleague.gateway.page.chat.tree import session_path
from colleague.gateway.page.markdown import markdown_html
from colleague.gateway.page.render import fragment
from colleague.gateway.page.visitor import Visitor
from colleague.gateway.streams import BEATS, STILL_HERE
from colleague.session_document import ItemDocument
from colleague.session_event import SessionEvent
from colleague.store.tx import ANYTHING, Database

LIVE_SECONDS = 0.12
"""Of an answer that is being written, no more than one picture in this time."""
NEWS_SECONDS = 0.3
OTHERS_SECONDS = 2.0
"""How soon it is seen what other sessions do."""
NEWS = (
    "message",
    "session_status",
    "run_status",
    "tool_execution_start",
    "tool_execution_end",
    "approval_requested",
    "approval_decided",
)


@dataclass(frozen=True)
class StreamPlace:
    """What the open page has: the items up to a position, of one transcript."""

    key: str
    after: int
    transcript: str


@dataclass
class ChatParts:
    """What one open page was sent, so that only what is new is sent."""

    gateway: Gateway
    visitor: Visitor
    place: StreamPlace
    live: LiveTurn = field(default_factory=LiveTurn)
    awaits: bool = False
    """Whether a question of an expert stands in it that nobody has decided."""
    _sent: dict[str, str] = field(default_factory=dict)
    _news: bool = True
    _looked: float = 0.0
    _told_live: float = 0.0

    async def take(self, event: SessionEvent) -> list[str]:
        """An item at once; everything else is told by `due`."""
        self.live.take(event)
        self._news = self._news or event.kind in NEWS
        if event.kind != "message":
            return []
        reader, document = reader_of(self.gateway, self.place.key), cast("ItemDocument", event.data)
        item = await self.gateway.database.read(lambda tx: reader.arrived(tx, document))
        return list(self._item(item, event.position))

    async def due(self, fresh: asyncio.Event) -> AsyncIterator[str]:
        """What it is time for."""
        now = time.monotonic()
        others = fresh.is_set() or self.gateway.database.shared
        since = now - self._looked
        if (self._news and since >= NEWS_SECONDS) or (others and since >= OTHERS_SECONDS):
            fresh.clear()
            self._news, self._looked = False, now
            for part in await self._look():
                yield part
        if self.live.changed and now - self._told_live >= LIVE_SECONDS:
            self._told_live, self.live.changed = now, False
            for part in self._changed("live", self._live_html()):
                yield part

    async def _look(self) -> list[str]:
        reader = reader_of(self.gateway, self.place.key)
        found = await self.gateway.database.read(lambda tx: reader.read(tx, changing=True))
        if found.session["session_id"] != self.place.transcript:
            return [_event("reload", "")]
        if found.session["status"] == "idle":
            self.live.end()
        self.awaits = any(item.delivery is not None and item.delivery.waits for item in found.items)
        told = [part for item in found.items for part in self._item(item)]
        return [*told, *self._around(found)]

    def _around(self, found: ShownConversation) -> Iterator[str]:
        more: dict[str, Any] = {"chat": found, "tree": found.tree, "current": self.place.key}
        for name in ("state", "questions", "tree"):
            yield from self._changed(name, fragment(f"chat_{name}.html", self.visitor, **more))

    def _item(self, item: ShownItem, position: int | None = None) -> Iterator[str]:
        html = fragment("chat_item.html", self.visitor, item=item, path=session_path(self.place.key))
        yield from self._changed(f"item-{item.position}", html, kind="item", position=position)

    def _live_html(self) -> str:
        words = self.live.words
        answer = markdown_html(words) if words else None
        return fragment("chat_live.html", self.visitor, live=self.live, answer=answer)

    def _changed(self, name: str, html: str, kind: str = "", position: int | None = None) -> Iterator[str]:
        if self._sent.get(name) != html or position is not None:
            self._sent[name] = html
            yield _event(kind or name, html, position)


async def chat_stream(gateway: Gateway, visitor: Visitor, place: StreamPlace) -> AsyncIterator[str]:
    """Server-sent events; the id of an item is its position, so that a page goes on where it was cut."""
    parts, silent = ChatParts(gateway, visitor, place), 0
    service = replace(gateway.service, source="page")
    yield "retry: 1000\n\n"
    with _commits(gateway.database, parts) as fresh:
        async with contextlib.aclosing(service.session_events(place.key, place.after)) as events:
            async for event in events:
                silent = 0 if event else silent + 1
                for part in await parts.take(event) if event else ():
                    yield part
                async for part in parts.due(fresh):
                    yield part
                if silent and silent % BEATS == 0:
                    yield STILL_HERE


@contextlib.contextmanager
def _commits(database: Database, parts: ChatParts) -> Iterator[asyncio.Event]:
    """Set after each commit of this process that somebody may want to see; what runs of experts do only
    matters while one of their questions waits here."""
    fresh, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(subject: str) -> None:
        if subject == ANYTHING and not parts.awaits:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it who waits
            loop.call_soon_threadsafe(fresh.set)

    database.watchers.append(tell)
    try:
        yield fresh
    finally:
        database.watchers.remove(tell)


def _event(kind: str, html: str, position: int | None = None) -> str:
    number = f"id: {position}\n" if position is not None else ""
    return f"{number}event: {kind}\ndata: {json.dumps(html, ensure_ascii=False)}\n\n"
