"""Conversations, as the service on an open database has them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from colleague.agent.main_agent import MainAgent, chosen_model, main_tree
from colleague.agent.pictures.message import MessagePictures
from colleague.agent.pictures.references import references
from colleague.config.agents import AnyLevel
from colleague.errors import NotFound, UsageError
from colleague.experts.expert import find_expert
from colleague.experts.restrictions import ExpertRestrictions
from colleague.experts.runs.expert_sessions import CHAT_CHANNELS, ExpertMessages, is_persistent
from colleague.experts.runs.preflight import valid_bindings
from colleague.hooks.events import BeforeReset, MessageReceived
from colleague.main_names import MAIN_SESSION
from colleague.runtime.requests import (
    AcceptedEvent,
    MessageRequest,
    SentMessage,
    TurnAnswer,
    require_message,
)
from colleague.runtime.run_events import RunWatchers
from colleague.runtime.service_base import ServiceBase, Source
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
from colleague.sessions.attachments import kept_attachments
from colleague.sessions.changes import change, reset, stop
from colleague.sessions.compact_command import WORD, compact_instructions
from colleague.sessions.messages import (
    SessionMessage,
    denied_by_policy,
    find_key,
    queue_rule,
    require_session,
    send_message,
)
from colleague.sessions.report import archive_document, hit_document, item_documents, session_document
from colleague.sessions.resets import after_trigger
from colleague.store.accept import skip
from colleague.store.audit import Change
from colleague.store.cascade import end_stopped_children
from colleague.store.event_report import get_event
from colleague.store.inbox import Sent, send
from colleague.store.lanes import lock_lane
from colleague.store.main_news import news_in, unread_among
from colleague.store.outbox import mark_read
from colleague.store.run import get_run
from colleague.store.session_entry import (
    QueueMode,
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

NO_PICTURES = "experts are sent text only; the attachments were left out"


@dataclass(frozen=True)
class LocalSessions(ServiceBase):
    """Saying something to a session, looking at one, changing and watching it."""

    async def say(self, message: str, *, model: str = "") -> AcceptedEvent:
        sent = await self.send(MAIN_SESSION, MessageRequest(message, model=model))
        return AcceptedEvent(sent.event_id, sent.run_id, sent.duplicate)

    async def send(self, session: str, message: MessageRequest) -> SentMessage:
        require_message(message.text)
        self._require_enforced()
        key, model = await self.database.read(lambda tx: _addressed(tx, session))
        if key.is_of_expert:
            return await self._send_to_expert(key, message)
        said = _session_message(message, self.source)  # what is wrong with the message itself is said first
        self._check_model(key.agent_id, message.model or model)
        pictures = await self._pictures(key.agent_id, message)
        said = replace(said, attachments=pictures.to_json())
        if self.hooks.has(BeforeReset.hook) and after_trigger(self.settings, said.text) is not None:
            await self._tell_before_reset(session, said.sender.get("name") or self.source)

        def work(tx: Tx) -> SentMessage:
            key = find_key(tx, session)
            return _sent(tx, str(key), send_message(tx, self.settings, key, said))

        sent = await self.database.write(work)
        self._tell_received(sent, said)
        return replace(sent, problems=pictures.problems)

    def _tell_received(self, sent: SentMessage, said: SessionMessage) -> None:
        if sent.duplicate or sent.queued == "denied" or not self.hooks.has(MessageReceived.hook):
            return
        event = MessageReceived(
            sent.session_key,
            said.text,
            said.source,
            dict(said.sender),
            dict(said.place),
            sent.event_id,
            sent.run_id,
        )
        self.hooks.tell(event)

    async def _tell_before_reset(self, session: str, by: str) -> None:
        """Only of a session in which something was said."""

        def find(tx: Tx) -> SessionEntry | None:
            return find_session(tx, str(find_key(tx, session)))

        entry = await self.database.read(find)
        if entry is not None:
            await self.hooks.told(BeforeReset(entry.key, entry.id, by))

    async def _pictures(self, agent_id: str, message: MessageRequest) -> MessagePictures:
        if not message.attachments and not references(message.text):
            return MessagePictures()
        return await asyncio.to_thread(self._kept_pictures, agent_id, message)

    def _kept_pictures(self, agent_id: str, message: MessageRequest) -> MessagePictures:
        settings = self.settings.for_agent(agent_id)
        tree = main_tree(self.home, settings, ExpertRestrictions(self.home, settings))
        return kept_attachments(self.home, tree, message.text, message.attachments)

    def _check_model(self, agent_id: str, model: str) -> None:
        """Raises when there is no such agent, or the model cannot be used."""
        replace(self._preflight, settings=self.settings.for_agent(agent_id)).check_model(model)

    async def turn_answer(self, sent: SentMessage, seconds: float) -> TurnAnswer | None:
        """How the turn of a message came out; None when that takes longer."""
        return await wait_for_turn(self.database, self.home, sent, seconds)

    async def _send_to_expert(self, key: SessionKey, message: MessageRequest) -> SentMessage:
        """A task of the expert, in a session in which people talk to it."""
        experts = ExpertMessages(self.home, self.settings, self.environ)
        said = await asyncio.to_thread(
            experts.message, key, message.text, source=self.source, model=message.model
        )
        keys = (message.dedupe_key,) if message.dedupe_key else ()
        inputs = await asyncio.to_thread(self._expert_inputs, key, message.text, said.arrival.inputs)
        said = replace(said, arrival=replace(said.arrival, dedupe_keys=keys, inputs=inputs))

        def work(tx: Tx) -> SentMessage:
            self.settings.for_agent(key.agent_id)
            lock_lane(tx, str(key))
            entry = open_session(tx, str(key), key.agent_id)
            denied = denied_by_policy(self.settings, key, entry, message.place.get("channel"))
            if denied is not None:
                return _sent(tx, str(key), Sent(skip(tx, said.arrival, denied), None, "denied"))
            rule = queue_rule(self.settings, entry, _session_message(message, self.source))
            return _sent(tx, str(key), send(tx, said, rule))

        sent = await self.database.write(work)
        self._tell_received(sent, _session_message(message, self.source))
        return replace(sent, problems=(NO_PICTURES,) if message.attachments else ())

    def _expert_inputs(self, key: SessionKey, text: str, inputs: str) -> str:
        """With what a person wants to be kept when the conversation is to be shortened."""
        kept = compact_instructions(text)
        if kept is None:
            return inputs
        bindings = valid_bindings(find_expert(self.home, str(key.expert)).bindings_file)
        if not is_persistent(bindings) and key.process not in CHAT_CHANNELS:
            raise UsageError(
                f"there is nothing to shorten: each message to {key.expert} is a task of its own",
                hint="set session: persistent in its bindings.yaml for one conversation",
            )
        return json.dumps(json.loads(inputs) | {"compact": kept}, ensure_ascii=False)

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


def _session_message(message: MessageRequest, source: Source) -> SessionMessage:
    modes, levels = get_args(QueueMode), get_args(AnyLevel)
    if message.queue_mode is not None and message.queue_mode not in modes:
        raise UsageError(f"there is no queue mode {message.queue_mode!r}", hint=f"one of: {', '.join(modes)}")
    if message.thinking and message.thinking not in levels:
        raise UsageError(
            f"thinking is one of: {', '.join(levels)}", hint="leave it out for the session's own"
        )
    return SessionMessage(
        text=message.text,
        source=source,
        sender=message.sender,
        place=message.place,
        model=message.model,
        queue_mode=cast("QueueMode | None", message.queue_mode),
        thinking=message.thinking,
        disable_tools=message.disable_tools,
        timeout_seconds=message.timeout_seconds,
        extra_system_prompt=message.extra_system_prompt,
        dedupe_key=message.dedupe_key,
        earlier=message.earlier,
        hidden=message.hidden,
    )


def _addressed(tx: Tx, session: str) -> tuple[SessionKey, str]:
    """The key of a session, and the model that a person chose for it."""
    key = find_key(tx, session)
    entry = find_session(tx, str(key))
    return key, chosen_model(entry) if entry else ""


def _sent(tx: Tx, key: str, sent: Sent) -> SentMessage:
    refused = sent.queued in ("dropped", "denied")
    reason = get_event(tx, sent.event_id).reason if refused else None
    if sent.duplicate and sent.run_id is not None:
        key = get_run(tx, sent.run_id).session_key
    return SentMessage(sent.event_id, sent.run_id, sent.queued, key, sent.duplicate, reason)


def _archive(tx: Tx, entry: SessionEntry, ending: str) -> str:
    """The archive whose id ends so. Raises NotFound."""
    found = [each.id for each in archives_of(tx, entry.key) if each.id.endswith(ending)]
    if len(found) != 1:
        problem = "there is no archive" if not found else "more than one archive has an id that ends with"
        raise NotFound(
            f"{problem} {ending!r} of {entry.key}", hint="see them in: /api/sessions/{key}/archive"
        )
    return found[0]
