"""Saying something to a session: what is checked, what is stored, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from colleague.agent.turn_inputs import PEOPLE, TurnInputs
from colleague.config import Settings
from colleague.errors import NotFound
from colleague.main_names import MAIN_AGENT
from colleague.session_key import BadSessionKey, SessionKey
from colleague.sessions.compact_command import compact_instructions
from colleague.sessions.resets import after_trigger, reset_due
from colleague.sessions.send_policy import Action, resolve_send_policy
from colleague.store.accept import Arrival, skip, skip_once
from colleague.store.chat_answers import ChatTarget, stored_place
from colleague.store.dedupe import is_repeat
from colleague.store.inbox import IncomingMessage, QueueRule, SendOutcome, count_waiting, send
from colleague.store.lanes import head_of, lock_lane
from colleague.store.session_entry import (
    QueueMode,
    SessionEntry,
    find_session,
    keep_place,
    key_of_label,
    open_session,
)
from colleague.store.session_items import NewItem, last_said_at
from colleague.store.tx import Tx

STOP = "/stop"
"""In a chat on a channel, where there is no other way to end a turn."""
STOPPED = "it stopped the session; nothing else was said"
BEGUN_ANEW = "the session began anew; nothing else was said"


@dataclass(frozen=True)
class SessionMessage:
    """What a person, a program or another session says. `source` says by which way it came."""

    text: str
    source: str = "command"
    sender: Mapping[str, str] = field(default_factory=dict)
    place: Mapping[str, str] = field(default_factory=dict)
    attachments: str | None = None
    model: str = ""
    queue_mode: QueueMode | None = None
    thinking: str = ""
    disable_tools: bool = False
    timeout_seconds: float | None = None
    extra_system_prompt: str = ""
    dedupe_key: str | None = None
    earlier: tuple[tuple[str, str], ...] = ()
    """What was said before, where the caller keeps the conversation."""
    hidden: bool = False
    """A session that it makes belongs to this message alone."""
    parent_run: str | None = None
    """The run that handed this over."""
    role: Literal["user", "event"] = "user"
    """An event is told to the agent as data, with its source."""
    heartbeat: bool = False
    """A regular check: nobody is shown it, nor its answer when there is nothing to report."""

    @property
    def inputs(self) -> TurnInputs:
        return TurnInputs(
            message=self.text,
            sender=dict(self.sender),
            place=dict(self.place),
            thinking=self.thinking,
            disable_tools=self.disable_tools,
            timeout_seconds=self.timeout_seconds,
            extra_system_prompt=self.extra_system_prompt,
            earlier=self.earlier,
            heartbeat=self.heartbeat,
            compact=compact_instructions(self.text) if self.source in PEOPLE else None,
        )


def find_key(tx: Tx, name: str) -> SessionKey:
    """The session of a label or a key. Raises BadSessionKey for a text that is neither."""
    labelled = key_of_label(tx, name)
    if labelled is not None:
        return SessionKey.parse(labelled)
    try:
        return SessionKey.parse(name)
    except BadSessionKey as error:
        raise NotFound(
            f"there is no session with the label {name!r}, and it is no session key",
            hint=error.hint or "see them with: colleague session list",
        ) from None


def send_message(
    tx: Tx, settings: Settings, key: SessionKey, message: SessionMessage, rule: QueueRule | None = None
) -> SendOutcome:
    """Stores a message and starts, steers or queues a turn; before that the session may begin anew. A message
    that the send policy denies is stored as skipped, with the rule."""
    name = str(key)
    settings.for_agent(key.agent_id)
    lock_lane(tx, name)
    entry = open_session(tx, name, key.agent_id, **_known(key), hidden=int(message.hidden))
    arrival = _arrival(key, message)
    channel = message.place.get("channel")
    denied = denied_by_policy(settings, key, entry, channel)
    if denied is not None:
        return SendOutcome(skip(tx, arrival, denied), None, "denied")
    if message.source in PEOPLE and not is_repeat(tx, arrival):
        if channel and message.text.strip().casefold() == STOP:
            from colleague.sessions.changes import stop

            stop(tx, key, _sender(message))
            return SendOutcome(skip_once(tx, arrival, STOPPED), None, "stopped")
        said = after_trigger(settings, message.text)
        if said is not None:
            _reset(tx, key, _sender(message), ends_work=True)
            if not said:
                return SendOutcome(skip_once(tx, arrival, BEGUN_ANEW), None, "reset")
            message = replace(message, text=said)
            arrival = _arrival(key, message)
        else:
            _reset_if_due(tx, settings, key, entry, channel or key.channel or "")
        _note_place(tx, key, entry, message)
    return send(tx, _as_said(key, message, arrival), rule or queue_rule(settings, entry, message))


def _note_place(tx: Tx, key: SessionKey, entry: SessionEntry, message: SessionMessage) -> None:
    """Keeps where a person last spoke to the session: turns that nobody asked for are answered there."""
    target = ChatTarget.of_place(message.place)
    place = stored_place(target) if target else None
    if not key.is_subagent and entry.origin != place:
        keep_place(tx, entry.key, place)


def denied_by_policy(
    settings: Settings, key: SessionKey, entry: SessionEntry, channel: str | None
) -> str | None:
    """Why the send policy keeps a message out of a session; None when it does not."""
    override: Action | None = (
        "deny" if entry.send_policy == "deny" else "allow" if entry.send_policy else None
    )
    decision = resolve_send_policy(settings.session.send_policy, key, override=override, channel=channel)
    return None if decision.allowed else f"the send policy denies it: {decision.decided_by}"


def _as_said(key: SessionKey, message: SessionMessage, arrival: Arrival) -> IncomingMessage:
    source, hidden = _sender(message), int(message.heartbeat)
    item = NewItem(message.role, message.text, source=source, attachments=message.attachments, hidden=hidden)
    return IncomingMessage(arrival, key.agent_id, item)


def _reset_if_due(tx: Tx, settings: Settings, key: SessionKey, entry: SessionEntry, channel: str) -> None:
    """A session at work goes on as it is: its turn is not ended by a clock."""
    last = last_said_at(tx, entry.id)
    why = reset_due(settings, key, channel, last, tx.now) if last is not None else None
    if why is not None and head_of(tx, entry.key) is None and not count_waiting(tx, entry.key):
        _reset(tx, key, why, ends_work=False)


def _reset(tx: Tx, key: SessionKey, by: str, *, ends_work: bool) -> None:
    from colleague.sessions.changes import reset

    reset(tx, key, by, ends_work=ends_work)


def _known(key: SessionKey) -> dict[str, str | None]:
    """What the key itself tells of a new session."""
    return {
        "channel": key.channel,
        "chat_type": key.chat_type,
        "group_id": key.peer_id if key.chat_type == "group" else None,
    }


def _sender(message: SessionMessage) -> str:
    return message.sender.get("name") or message.sender.get("id") or message.source


def _arrival(key: SessionKey, message: SessionMessage) -> Arrival:
    inputs = message.inputs.to_json()
    return Arrival(
        kind="subagent" if key.is_subagent else "agent",
        expert=MAIN_AGENT,
        trigger=message.source,
        source=message.source,
        payload=inputs,
        inputs=inputs,
        session_key=str(key),
        lane=str(key),
        model=message.model,
        dedupe_keys=(message.dedupe_key,) if message.dedupe_key else (),
        parent_run=message.parent_run,
    )


def queue_rule(settings: Settings, entry: SessionEntry, message: SessionMessage) -> QueueRule:
    """The mode of the message itself, else of the session, of its channel, of the settings."""
    queue = settings.messages.queue
    if message.inputs.compact is not None:
        return QueueRule("queue", cap=queue.cap, drop=queue.drop)  # never part of another turn
    channel = message.place.get("channel") or entry.channel or ""
    mode = message.queue_mode or entry.queue_mode or queue.by_channel.get(channel) or queue.mode
    wanted: QueueMode = "steer-backlog" if mode == "steer+backlog" else mode
    return QueueRule(wanted, queue.debounce_ms, queue.cap, queue.drop)


def require_session(tx: Tx, name: str) -> SessionEntry:
    """The entry of a label or key that is in use. Raises NotFound."""
    key = find_key(tx, name)
    entry = find_session(tx, str(key))
    if entry is None:
        raise NotFound(f"there is no session {name!r}", hint="see them with: colleague session list")
    return entry
