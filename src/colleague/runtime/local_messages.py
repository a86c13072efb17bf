"""Saying something to a session. What only some messages need is imported for those."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

from colleague.agent.pictures.references import references
from colleague.config.agents import AnyLevel
from colleague.errors import UsageError
from colleague.main_names import MAIN_SESSION
from colleague.runtime.requests import AcceptedEvent, MessageRequest, SentMessage, require_message
from colleague.runtime.service_base import ServiceBase, Source
from colleague.session_key import SessionKey
from colleague.sessions.compact_command import compact_instructions
from colleague.sessions.messages import (
    SessionMessage,
    denied_by_policy,
    find_key,
    queue_rule,
    send_message,
)
from colleague.sessions.resets import after_trigger
from colleague.store.accept import skip
from colleague.store.inbox import SendOutcome, send
from colleague.store.lanes import lock_lane
from colleague.store.run import get_run
from colleague.store.session_entry import QueueMode, SessionEntry, find_session, open_session
from colleague.store.tx import Tx

if TYPE_CHECKING:
    from colleague.agent.pictures.message import MessagePictures

NO_PICTURES = "experts are sent text only; the attachments were left out"


class LocalMessages(ServiceBase):
    """Every message is checked before it is stored: one that cannot be answered makes no run."""

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
        said = replace(said, attachments=pictures.to_json() if pictures else None)
        if self.hooks.handlers and after_trigger(self.settings, said.text) is not None:
            await self._tell_before_reset(session, said.sender.get("name") or self.source)

        def work(tx: Tx) -> SentMessage:
            key = find_key(tx, session)
            return _sent(tx, str(key), send_message(tx, self.settings, key, said))

        sent = await self.database.write(work)
        self._tell_received(sent, said)
        return replace(sent, problems=pictures.problems if pictures else ())

    def _tell_received(self, sent: SentMessage, said: SessionMessage) -> None:
        if sent.duplicate or sent.queued == "denied" or not self.hooks.handlers:
            return
        from colleague.hooks.events import MessageReceived

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
        from colleague.hooks.events import BeforeReset

        def find(tx: Tx) -> SessionEntry | None:
            return find_session(tx, str(find_key(tx, session)))

        entry = await self.database.read(find) if self.hooks.has(BeforeReset.hook) else None
        if entry is not None:
            await self.hooks.tell_and_wait(BeforeReset(entry.key, entry.id, by))

    async def _pictures(self, agent_id: str, message: MessageRequest) -> MessagePictures | None:
        """None when it brings and names none."""
        if not message.attachments and not references(message.text):
            return None
        return await asyncio.to_thread(self._kept_pictures, agent_id, message)

    def _kept_pictures(self, agent_id: str, message: MessageRequest) -> MessagePictures:
        from colleague.agent.main_agent import main_tree
        from colleague.experts.restrictions import ExpertRestrictions
        from colleague.sessions.attachments import kept_attachments

        settings = self.settings.for_agent(agent_id)
        tree = main_tree(self.home, settings, ExpertRestrictions(self.home, settings))
        return kept_attachments(self.home, tree, message.text, message.attachments)

    def _check_model(self, agent_id: str, model: str) -> None:
        """Raises when there is no such agent, or the model cannot be used."""
        replace(self._preflight, settings=self.settings.for_agent(agent_id)).check_model(model)

    async def _send_to_expert(self, key: SessionKey, message: MessageRequest) -> SentMessage:
        """A task of the expert, in a session in which people talk to it."""
        from colleague.experts.runs.expert_sessions import ExpertMessages

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
                return _sent(tx, str(key), SendOutcome(skip(tx, said.arrival, denied), None, "denied"))
            rule = queue_rule(self.settings, entry, _session_message(message, self.source))
            return _sent(tx, str(key), send(tx, said, rule))

        sent = await self.database.write(work)
        self._tell_received(sent, _session_message(message, self.source))
        return replace(sent, problems=(NO_PICTURES,) if message.attachments else ())

    def _expert_inputs(self, key: SessionKey, text: str, inputs: str) -> str:
        """With what a person wants to be kept when the conversation is to be shortened."""
        from colleague.experts.expert import find_expert
        from colleague.experts.runs.expert_sessions import CHAT_CHANNELS, is_persistent
        from colleague.experts.runs.preflight import valid_bindings

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
    return key, entry.chosen_model if entry else ""


def _sent(tx: Tx, key: str, sent: SendOutcome) -> SentMessage:
    reason = _reason(tx, sent.event_id) if sent.queued in ("dropped", "denied") else None
    if sent.duplicate and sent.run_id is not None:
        key = get_run(tx, sent.run_id).session_key
    return SentMessage(sent.event_id, sent.run_id, sent.queued, key, sent.duplicate, reason)


def _reason(tx: Tx, event_id: str) -> str | None:
    from colleague.store.event_report import get_event

    return get_event(tx, event_id).reason
