"""The service on an open database, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from sqlalchemy import select

from colleague.agent.main_agent import MainAgent, chosen_model, main_tree
from colleague.agent.models.profile_report import ProfileDocument
from colleague.agent.pictures.message import MessagePictures
from colleague.agent.pictures.references import references
from colleague.agent.prompt.workspace_files import file_problems
from colleague.clock import iso
from colleague.config import Settings
from colleague.config.agents import AnyLevel
from colleague.config.status import require_enforced
from colleague.errors import ColleagueError, ConfigError, NotFound, UsageError
from colleague.experts.expert import find_expert
from colleague.experts.launch_acceptance import accept_one
from colleague.experts.restrictions import ExpertRestrictions
from colleague.experts.runs.expert_sessions import CHAT_CHANNELS, ExpertMessages, is_persistent
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation, checked_inputs
from colleague.experts.runs.model_name import model_name
from colleague.experts.runs.preflight import Preflight, valid_bindings
from colleague.experts.runs.redacted_report import approval_report, event_report, run_report
from colleague.experts.runs.retry import drop_dead_letter, retry_run
from colleague.experts.workspace.restore import restore_file
from colleague.home import Home
from colleague.hooks.events import BeforeReset, MessageReceived
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.main_names import MAIN_SESSION
from colleague.person_document import ApprovalLink, PersonDocument, SignInLink
from colleague.run_document import ApprovalDocument, RunDocument
from colleague.run_event import RunEvent
from colleague.runtime.auth_profiles import AuthProfileControl
from colleague.runtime.decisions import decide_one
from colleague.runtime.host import Host
from colleague.runtime.requests import (
    MOST_PENDING,
    AcceptedEvent,
    DecisionAnswer,
    DecisionRequest,
    MessageRequest,
    Refusal,
    RunRequest,
    SentMessage,
    TurnAnswer,
    require_message,
    require_work,
)
from colleague.runtime.run_events import LOOK_SECONDS, RunReader, RunSnapshot, RunWatchers, run_events
from colleague.runtime.session_events import MOST_ITEMS, SessionLook, SessionSource, session_events
from colleague.runtime.session_news import session_news
from colleague.runtime.shown_levels import levels_of
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
from colleague.store.accept import Accepted, Arrival, accept, skip
from colleague.store.approvals import (
    AlreadyDecided,
    get_approval,
    pending_approvals,
)
from colleague.store.cancel import cancel
from colleague.store.canvases import remove_canvas
from colleague.store.cascade import end_stopped_children
from colleague.store.event_report import get_event
from colleague.store.grants import revoke_grant
from colleague.store.inbox import Sent, send
from colleague.store.lanes import lock_lane
from colleague.store.lookup import full_id
from colleague.store.main_news import news_in, unread_among
from colleague.store.outbox import mark_read
from colleague.store.people import add_person, new_approval_link, new_link, person_documents, remove_person
from colleague.store.report import answers_of
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
from colleague.store.sweep import GRACE_MS
from colleague.store.tables import approvals, events, grants, outbox, runs
from colleague.store.tx import Database, Tx
from colleague.tool_document import ToolDocument
from colleague.triggers.errors import BadPayload
from colleague.triggers.gmail.messages import gmail_payloads
from colleague.triggers.intake import arrival_of, fire
from colleague.triggers.pausing import pause, resume
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.reminders import (
    agent_of,
    is_agent,
    pause_schedule,
    require_reminder,
    require_schedule,
    resume_schedule,
    run_now,
)

Source = Literal["command", "api", "page", "chat", "link"]
OFTEN = 0.3
NO_PICTURES = "experts are sent text only; the attachments were left out"


@dataclass(frozen=True)
class LocalService:
    """Acts on an open database. What it changes wakes the worker by itself.

    With a `host` it works on the runs that are followed; without one, or when `watchers` tell what a worker
    of this process does, it looks on. Whatever sets a run going is refused under
    settings with a restriction that nothing enforces."""

    home: Home
    settings: Settings
    database: Database
    registry: TriggerRegistry
    source: Source = "command"
    host: Host | None = None
    watchers: RunWatchers | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    unenforced: ConfigError | None = None
    """A restriction in newer settings than these, which nothing enforces."""
    enforced: bool = False
    """Whether the settings were found to hold no such restriction when they were read."""
    hooks: PluginHooks = NO_HOOKS
    main_agent: MainAgent | None = None
    """The agents of a process that works on runs elsewhere than here."""

    def _require_enforced(self) -> None:
        if self.unenforced is not None:
            raise self.unenforced
        if not self.enforced:
            require_enforced(self.settings)

    @property
    def _preflight(self) -> Preflight:
        return Preflight(self.home, self.settings, self.environ)

    async def decide(self, requests: Sequence[DecisionRequest]) -> list[DecisionAnswer]:
        self._require_enforced()
        return [await self._decide(request) for request in requests]

    async def _decide(self, request: DecisionRequest) -> DecisionAnswer:
        try:
            approval, grant = await self.database.write(lambda tx: decide_one(tx, self.home, request))
        except ColleagueError as error:
            refusal = Refusal(error.code, error.message, error.hint)
            now = await self.approval(request.approval) if isinstance(error, AlreadyDecided) else None
            return DecisionAnswer(request.approval, now, refusal=refusal)
        return DecisionAnswer(request.approval, approval, grant)

    async def start(self, asked: RunRequest) -> AcceptedEvent:
        require_work(asked)
        self._require_enforced()

        def arrive() -> Arrival:
            found = find_expert(self.home, asked.expert)
            invoked = Invocation(self.home, found, found.load(), asked.model, asked.dry_run)
            process = find_process(invoked.package, asked.process) if asked.process else None
            if process is not None:
                checked_inputs(process, asked.inputs)
            self._preflight.check_expert(
                found, invoked.package, process, asked.model, dry_run=bool(asked.dry_run)
            )
            if process is not None:
                return invoked.process(process, asked.inputs, source=self.source)
            return invoked.task(asked.task, source=self.source)

        arrival = await asyncio.to_thread(arrive)
        return _accepted(await self.database.write(lambda tx: accept(tx, arrival)))

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
        agent = self.main_agent or (self.host.main_agent if self.host else None)
        if agent is None:
            raise UsageError("there are no agents in this process", hint="ask the gateway of this home")
        return replace(agent, settings=self.settings), entry

    async def change_session(self, session: str, changes: dict[str, Any]) -> SessionDocument:
        def work(tx: Tx) -> SessionDocument:
            key = find_key(tx, session)
            self.settings.for_agent(key.agent_id)
            return session_document(tx, change(tx, key, changes))

        return await self.database.write(work)

    async def stop_session(self, session: str, by: str) -> StoppedDocument:
        await self._open_main(session)
        stopped = await self.database.write(lambda tx: stop(tx, find_key(tx, session), by))
        await end_stopped_children(self.database)
        return stopped

    async def reset_session(self, session: str, by: str) -> SessionDocument:
        await self._open_main(session)
        if self.hooks.has(BeforeReset.hook):
            await self._tell_before_reset(session, by)

        def work(tx: Tx) -> SessionDocument:
            return session_document(tx, reset(tx, find_key(tx, session), by))

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

        with session_news(self.database, key) as news, self._watching() as watchers:
            source = SessionSource(
                look=lambda position: self.database.read(lambda tx: look(tx, position)),
                run_events=lambda run_id: self.events(run_id, watchers),
                news=news,
                is_closed=lambda: watchers is not None and watchers.is_closed,
            )
            async with contextlib.aclosing(session_events(source, start)) as events:
                async for event in events:
                    yield event

    @contextlib.contextmanager
    def _watching(self) -> Iterator[RunWatchers | None]:
        """Whoever tells what the runs of this process do."""
        if self.watchers is not None or self.host is None:
            yield self.watchers
            return
        watchers = RunWatchers(self.host.bus)
        try:
            yield watchers
        finally:
            watchers.stop_watching()

    async def event(self, event: str) -> dict[str, Any]:
        return await self.database.read(
            lambda tx: event_report(tx, self.home, full_id(tx, events, "event", event))
        )

    async def fire(self, expert: str, trigger: str, payload: Any) -> AcceptedEvent:
        """Raises Inactive when the trigger is not active."""
        self._require_enforced()
        if is_agent(expert):
            return await self._run_reminder(expert, trigger)
        bound = self.registry.find(expert, trigger)
        bound.require_active()
        window = self.settings.experts.dedupe_window
        enriched = _enriched(bound, payload)
        await asyncio.to_thread(
            self._preflight.check_expert, bound.expert, bound.package, bound.process, "", dry_run=False
        )
        arrival = await asyncio.to_thread(
            arrival_of, self.home, bound, enriched, source=self.source, dedupe_window=window
        )
        return _accepted(await self.database.write(lambda tx: fire(tx, arrival)))

    async def _run_reminder(self, owner: str, name: str) -> AcceptedEvent:
        def work(tx: Tx) -> Sent:
            return run_now(tx, self.settings, require_reminder(tx, agent_of(owner), name))

        sent = await self.database.write(work)
        return AcceptedEvent(sent.event_id, sent.run_id, sent.duplicate)

    async def pause(self, expert: str, trigger: str, by: str) -> bool:
        if is_agent(expert):
            return await self.database.write(
                lambda tx: pause_schedule(tx, require_schedule(tx, expert, trigger), by)
            )
        bound = self.registry.find(expert, trigger)
        return await self.database.write(lambda tx: pause(tx, bound, by))

    async def resume(self, expert: str, trigger: str) -> int | None:
        if is_agent(expert):
            resumed = await self.database.write(
                lambda tx: resume_schedule(tx, require_schedule(tx, expert, trigger))
            )
            return 0 if resumed else None
        bound = self.registry.find(expert, trigger)
        return await self.database.write(lambda tx: resume(tx, self.home, bound))

    async def cancel(self, run: str, reason: str) -> bool:
        done = await self.database.write(lambda tx: cancel(tx, full_id(tx, runs, "run", run), reason))
        await end_stopped_children(self.database)
        return done

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        self._require_enforced()
        run_id = await self._run_id(run)
        await retry_run(self.database, self.home, run_id, changes or {})
        return run_id

    async def drop(self, run: str, by: str) -> None:
        await self.database.write(lambda tx: drop_dead_letter(tx, full_id(tx, runs, "run", run), by))

    async def read(self, delivery: str, by: str) -> bool:
        return await self.database.write(
            lambda tx: bool(mark_read(tx, [full_id(tx, outbox, "delivery", delivery)], by))
        )

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        return await restore_file(self.home, self.settings, self.database, expert, file, version)

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        await accept_one(self.database, self.settings, name, digest, by)

    async def revoke(self, grant: str) -> None:
        await self.database.write(lambda tx: revoke_grant(tx, full_id(tx, grants, "grant", grant)))

    async def remove_canvas(self, canvas: str) -> None:
        await self.database.write(lambda tx: remove_canvas(tx, canvas))

    @property
    def _profiles(self) -> AuthProfileControl:
        return AuthProfileControl(self.settings, self.environ, self.database)

    async def auth_profiles(self, agent: str) -> list[ProfileDocument]:
        return await self._profiles.documents(agent)

    async def order_auth_profiles(
        self, agent: str, provider: str, profiles: Sequence[str]
    ) -> list[ProfileDocument]:
        await self._profiles.set_order(agent, provider, profiles)
        return [each for each in await self.auth_profiles(agent) if each["provider"] == provider]

    async def clear_cooldowns(self, profiles: Sequence[str]) -> list[str]:
        return await self._profiles.clear_cooldowns(profiles)

    async def forget_auth_profile(self, profile: str) -> None:
        await self._profiles.forget(profile)

    async def approval_link(self, approval: str, person: str, lasts_ms: int) -> ApprovalLink:
        def work(tx: Tx) -> ApprovalLink:
            whole = full_id(tx, approvals, "approval", approval)
            secret = new_approval_link(tx, whole, person, lasts_ms)
            return {"approval": whole, "path": f"/approve/{secret}", "expires_at": iso(tx.now + lasts_ms)}

        return await self.database.write(work)

    async def people(self) -> list[PersonDocument]:
        return await self.database.read(person_documents)

    async def add_person(self, name: str, role: str, experts: Sequence[str]) -> SignInLink:
        secret = await self.database.write(lambda tx: add_person(tx, name, role, experts))
        return {"name": name, "path": f"/login/{secret}"}

    async def link_person(self, name: str) -> SignInLink:
        secret = await self.database.write(lambda tx: new_link(tx, name))
        return {"name": name, "path": f"/login/{secret}"}

    async def remove_person(self, name: str) -> None:
        await self.database.write(lambda tx: remove_person(tx, name))

    async def problems(self) -> list[str]:
        found = [f"{name}: {why}" for name, why in sorted(self.registry.problems.items())]
        return found + await asyncio.to_thread(file_problems, self.settings)

    async def run(self, run: str) -> RunDocument:
        document = await self._document(await self._run_id(run))
        name = await asyncio.to_thread(model_name, self.home, self.settings, self.environ, document)
        key = document["session_key"]
        entry = await self.database.read(lambda tx: find_session(tx, key))
        return {**document, "model": name, "levels": levels_of(self.settings, key, entry)}

    async def approval(self, approval: str) -> ApprovalDocument:
        def work(tx: Tx) -> ApprovalDocument:
            found = get_approval(tx, full_id(tx, approvals, "approval", approval))
            return approval_report(tx, self.home, found)

        return await self.database.read(work)

    async def pending(self) -> list[ApprovalDocument]:
        def work(tx: Tx) -> list[ApprovalDocument]:
            return [approval_report(tx, self.home, each) for each in pending_approvals(tx, MOST_PENDING)]

        return await self.database.read(work)

    async def follow(self, runs: Sequence[str]) -> AsyncGenerator[RunEvent]:
        run_ids = [await self._run_id(run) for run in runs]
        async with self._advancing(run_ids) as watchers:
            for run_id in run_ids:
                async for event in self._until_rest(run_id, watchers):
                    yield event

    @contextlib.asynccontextmanager
    async def _advancing(self, run_ids: Sequence[str]) -> AsyncIterator[RunWatchers | None]:
        """Works on these runs while the block lasts; left early, the work is stopped."""
        if self.host is None or self.watchers is not None:
            yield self.watchers
            return
        watchers = RunWatchers(self.host.bus)
        working = asyncio.create_task(self.host.advance_only(run_ids))
        working.add_done_callback(lambda _: watchers.close())
        try:
            yield watchers
            await working
        finally:
            watchers.stop_watching()
            working.cancel()
            await asyncio.wait({working})

    async def _until_rest(self, run_id: str, watchers: RunWatchers | None) -> AsyncIterator[RunEvent]:
        every = LOOK_SECONDS if watchers else OFTEN
        events = self.events(run_id, watchers, look_seconds=every)
        async with contextlib.aclosing(events):
            async for event in events:
                if event is None:
                    continue
                yield event
                if event.is_rest:
                    return

    def events(
        self, run_id: str, watchers: RunWatchers | None, *, look_seconds: float = LOOK_SECONDS
    ) -> AsyncGenerator[RunEvent | None]:
        """What happens in one run until it is done; None when nothing does for a while."""
        look = RunReader(
            row=lambda: self.database.read(lambda tx: get_run(tx, run_id)),
            snapshot=lambda: self.database.read(lambda tx: self._snapshot(tx, run_id)),
        )
        return run_events(run_id, look, watchers, look_seconds=look_seconds)

    def _snapshot(self, tx: Tx, run_id: str) -> RunSnapshot:
        document = run_report(tx, self.home, run_id)
        return RunSnapshot(document, answers_of(tx, run_id) if document["kind"] == "agent" else ())

    async def holder(self, run_id: str) -> str:
        """The worker that has the run and still renews its lease; empty when nobody does, or on SQLite."""

        def work(tx: Tx) -> str:
            query = select(runs.c.worker, runs.c.lease_until).where(runs.c.id == run_id)
            row = tx.one(query)
            held = row is not None and (row.lease_until or 0) >= self.database.lease_now(tx) - GRACE_MS
            return str(row.worker) if row is not None and held else ""

        return await self.database.read(work) if self.database.shared else ""

    async def _run_id(self, ending: str) -> str:
        return await self.database.read(lambda tx: full_id(tx, runs, "run", ending))

    async def _document(self, run_id: str) -> RunDocument:
        return await self.database.read(lambda tx: run_report(tx, self.home, run_id))


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


def _accepted(found: Accepted) -> AcceptedEvent:
    return AcceptedEvent(found.event_id, found.run_id, found.duplicate)


def _enriched(bound: BoundTrigger, payload: Any) -> Any:
    """As the preset makes it of what comes from outside."""
    if bound.trigger.preset != "gmail":
        return payload
    payloads = gmail_payloads(payload)
    if len(payloads) != 1:
        raise BadPayload(f"there are {len(payloads)} messages in this payload", hint="fire one at a time")
    return payloads[0]
