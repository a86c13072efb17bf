"""Conversations, as the service on an open database has them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

from colleague.agent.main_agent import MainAgent
from colleague.errors import NotFound, UsageError
from colleague.hooks.events import BeforeReset
from colleague.runtime.local_messages import LocalMessages
from colleague.runtime.requests import (
    MessageRequest,
    SentMessage,
    TurnAnswer,
)
from colleague.runtime.run_events import RunWatchers
from colleague.runtime.session_events import MOST_ITEMS, SessionLook, SessionSource, session_events
from colleague.runtime.session_news import session_news
from colleague.runtime.turn_answer import wait_for_turn
from colleague.session_document import (
    ArchiveDocument,
    HitDocument,
    ItemDocument,
    PromptDocument,
    PromptMode,
    SessionDocument,
    StoppedDocument,
)
from colleague.session_event import SessionEvent
from colleague.session_key import SessionKey
from colleague.sessions.changes import change, reset, stop
from colleague.sessions.compact_command import WORD
from colleague.sessions.messages import (
    find_key,
    require_session,
)
from colleague.sessions.report import archive_document, hit_document, item_documents, session_document
from colleague.store.audit import Change
from colleague.store.cascade import end_stopped_children
from colleague.store.main_news import news_in, unread_among
from colleague.store.outbox import mark_read
from colleague.store.session_entry import (
    SessionEntry,
    archives_of,
    find_session,
    get_session,
    open_session,
    sessions_page,
)
from colleague.store.session_items import items_of
from colleague.store.session_search import search_items
from colleague.store.tx import Tx
from colleague.tool_document import ToolDocument


class LocalSessions(LocalMessages):
    """Looking at a session, changing and watching it."""

    async def turn_answer(self, sent: SentMessage, seconds: float) -> TurnAnswer | None:
        """How the turn of a message came out; None when that takes longer."""
        return await wait_for_turn(self.database, self.home, sent, seconds)

    async def compact_session(self, session: str, instructions: str) -> SentMessage:
        return await self.send(session, MessageRequest(f"{WORD} {instructions}".strip()))

    async def sessions(self, *, limit: int = 200, after: str | None = None) -> list[SessionDocument]:
        def work(tx: Tx) -> list[SessionDocument]:
            return [session_document(tx, each) for each in sessions_page(tx, limit=limit, after=after).items]

        return await self.database.read(work)

    async def session(self, session: str) -> SessionDocument:
        await self._open_main(session)
        return await self.database.read(lambda tx: session_document(tx, require_session(tx, session)))

    async def _open_main(self, name: str) -> None:
        """The main session of an agent exists before anybody has said something in it."""

        def missing(tx: Tx) -> SessionKey | None:
            key = find_key(tx, name)
            return key if key.is_main and find_session(tx, str(key)) is None else None

        key = await self.database.read(missing)
        if key is not None:
            self.settings.for_agent(key.agent_id)
            await self.database.write(lambda tx: open_session(tx, str(key), key.agent_id))

    async def prompt(self, session: str, mode: PromptMode | None = None) -> PromptDocument:
        agent, entry = await self._agent_of(session, "see its prompt with: colleague expert prompt {}")
        return await agent.preview(entry, mode)

    async def tools(self, session: str) -> list[ToolDocument]:
        agent, entry = await self._agent_of(session, "its tools are its bindings: colleague expert show {}")
        return await agent.explain(entry)

    async def tool(self, session: str, name: str) -> ToolDocument:
        agent, entry = await self._agent_of(session, "its tools are its bindings: colleague expert show {}")
        [found] = await agent.explain(entry, name)
        return found

    async def _agent_of(self, session: str, hint: str) -> tuple[MainAgent, SessionEntry]:
        """The agent of a session, with today's settings. `hint` is for a session of an expert."""
        await self._open_main(session)
        entry = await self.database.read(lambda tx: require_session(tx, session))
        key = SessionKey.parse(entry.key)
        if key.kind.startswith("expert"):
            raise UsageError(f"{entry.key} is a session of an expert", hint=hint.format(key.expert))
        agent = self.main_agent or ((await self.host.opened()).main_agent if self.host else None)
        if agent is None:
            raise UsageError("there are no agents in this process", hint="ask the gateway of this home")
        return replace(agent, settings=self.settings), entry

    async def change_session(self, session: str, changes: dict[str, Any]) -> SessionDocument:
        def work(tx: Tx) -> SessionDocument:
            key = find_key(tx, session)
            self.settings.for_agent(key.agent_id)
            self._note(tx, Change("session.change", str(key), detail={"changes": changes}))
            return session_document(tx, change(tx, key, changes))

        return await self.database.write(work)

    async def stop_session(self, session: str, by: str) -> StoppedDocument:
        await self._open_main(session)

        def work(tx: Tx) -> StoppedDocument:
            key = find_key(tx, session)
            self._note(tx, Change("session.stop", str(key)), by)
            return stop(tx, key, by)

        stopped = await self.database.write(work)
        await end_stopped_children(self.database)
        return stopped

    async def reset_session(self, session: str, by: str) -> SessionDocument:
        await self._open_main(session)
        if self.hooks.has(BeforeReset.hook):
            await self._tell_before_reset(session, by)

        def work(tx: Tx) -> SessionDocument:
            key = find_key(tx, session)
            self._note(tx, Change("session.reset", str(key)), by)
            return session_document(tx, reset(tx, key, by))

        found = await self.database.write(work)
        await end_stopped_children(self.database)
        return found

    async def items(
        self, session: str, *, after: int = 0, limit: int = 200, archive: str | None = None
    ) -> list[ItemDocument]:
        await self._open_main(session)

        def work(tx: Tx) -> tuple[list[ItemDocument], list[str]]:
            entry = require_session(tx, session)
            transcript = _archive(tx, entry, archive) if archive else entry.id
            items = items_of(tx, entry.key, transcript=transcript, after=after, limit=limit)
            return item_documents(tx, items), unread_among(tx, news_in(items))

        documents, unread = await self.database.read(work)
        if unread:
            await self.database.write(lambda tx: mark_read(tx, unread, self.source))
        return documents

    async def archives(self, session: str) -> list[ArchiveDocument]:
        def work(tx: Tx) -> list[ArchiveDocument]:
            return [archive_document(each) for each in archives_of(tx, require_session(tx, session).key)]

        return await self.database.read(work)

    async def search(self, text: str, *, session: str | None = None, limit: int = 20) -> list[HitDocument]:
        def work(tx: Tx) -> list[HitDocument]:
            key = require_session(tx, session).key if session else None
            return [hit_document(each) for each in search_items(tx, text, session_key=key, limit=limit)]

        return await self.database.read(work)

    async def watch_session(self, session: str, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        events = self.session_events(session, after)
        async with contextlib.aclosing(events):
            async for event in events:
                if event is not None:
                    yield event

    async def session_events(
        self, session: str, after: int | None = None
    ) -> AsyncGenerator[SessionEvent | None]:
        """The same, with None when nothing happens for a while."""
        document = await self.session(session)
        key, start = document["key"], document["positions"] if after is None else after

        def look(tx: Tx, position: int) -> SessionLook:
            items = items_of(tx, key, after=position, limit=MOST_ITEMS)
            return SessionLook(session_document(tx, get_session(tx, key)), item_documents(tx, items))

        async with contextlib.AsyncExitStack() as stack:
            news = stack.enter_context(session_news(self.database, key))
            watchers = await stack.enter_async_context(self._watching())
            source = SessionSource(
                look=lambda position: self.database.read(lambda tx: look(tx, position)),
                run_events=lambda run_id: self.events(run_id, watchers),
                news=news,
                is_closed=lambda: watchers is not None and watchers.is_closed,
            )
            async with contextlib.aclosing(session_events(source, start)) as events:
                async for event in events:
                    yield event

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[RunWatchers | None]:
        """Whoever tells what the runs of this process do."""
        if self.watchers is not None or self.host is None:
            yield self.watchers
            return
        watchers = RunWatchers((await self.host.opened()).bus)
        try:
            yield watchers
        finally:
            watchers.stop_watching()


def _archive(tx: Tx, entry: SessionEntry, ending: str) -> str:
    """The archive whose id ends so. Raises NotFound."""
    found = [each.id for each in archives_of(tx, entry.key) if each.id.endswith(ending)]
    if len(found) != 1:
        problem = "there is no archive" if not found else "more than one archive has an id that ends with"
        raise NotFound(
            f"{problem} {ending!r} of {entry.key}", hint="see them in: /api/sessions/{key}/archive"
        )
    return found[0]
