"""A message in a channel, and which triggers it wakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from colleague.experts.bindings import TriggerBinding
from colleague.session_key import ChatType
from colleague.sessions.routing import ChatPlace
from colleague.triggers.errors import BadPayload

CHAT_TYPES = ("dm", "direct", "group", "channel")
_LONGEST_ID = 500


@dataclass(frozen=True)
class ChannelMessage:
    """What every channel makes of its own kind of message. Ids that a channel has not are empty."""

    sender_id: str
    message_text: str
    channel_name: str
    message_id: str = ""
    conversation_id: str = ""
    thread_id: str = ""
    sender_name: str = ""
    chat_type: str = ""
    """dm, group or channel; by the conversation when not given."""
    account_id: str = ""
    """Of ours, where a channel has several."""

    @property
    def place(self) -> ChatPlace:
        """Where it was written."""
        apart = self.conversation_id and self.conversation_id != self.sender_id
        chat_type = self.chat_type or ("group" if apart else "dm")
        return ChatPlace(
            self.channel_name,
            self.sender_id,
            cast("ChatType", "dm" if chat_type == "direct" else chat_type),
            self.conversation_id,
            self.thread_id,
            self.account_id,
        )

    def payload(self) -> dict[str, Any]:
        """As a trigger sees it: empty ids are left out, so that a key on one counts as unresolved."""
        always = ("sender_id", "message_text", "channel_name")
        return {name: value for name, value in asdict(self).items() if value or name in always}


def read_message(raw: Mapping[str, Any]) -> ChannelMessage:
    """From a mapping with the names above; numbers become text. Raises BadPayload naming the field."""
    text = raw.get("message_text")
    if not isinstance(text, str | None):
        raise BadPayload("message_text of a channel message is no text", hint="send text, or leave it out")
    message = ChannelMessage(
        sender_id=_id(raw, "sender_id"),
        message_text=text or "",
        channel_name=_id(raw, "channel_name"),
        message_id=_id(raw, "message_id"),
        conversation_id=_id(raw, "conversation_id"),
        thread_id=_id(raw, "thread_id"),
        sender_name=_label(raw.get("sender_name")),
        chat_type=_chat_type(raw.get("chat_type")),
        account_id=_id(raw, "account_id"),
    )
    for name in ("sender_id", "channel_name"):
        if not getattr(message, name):
            raise BadPayload(f"a channel message has no {name}", hint=f"send {name} with each message")
    return message


def _chat_type(value: Any) -> str:
    if value in (None, ""):
        return ""
    if value not in CHAT_TYPES:
        raise BadPayload(f"chat_type is {str(value)[:40]!r}", hint=f"one of: {', '.join(CHAT_TYPES)}")
    return str(value)


def matches(binding: TriggerBinding | None, message: ChannelMessage) -> bool:
    """Whether the message fits all that the binding asks for; without a binding every message does."""
    if binding is None:
        return True
    return (
        (not binding.channel or _in_channel(binding.channel, message.channel_name))
        and (binding.senders is None or message.sender_id.lower() in map(str.lower, binding.senders))
        and (binding.pattern is None or binding.pattern.found_in(message.message_text))
    )


def _in_channel(wanted: str, name: str) -> bool:
    """By name, so that a channel called `[ops]` can be meant, or by pattern. Capitals make no difference."""
    wanted, name = wanted.lower(), name.lower()
    return name == wanted or fnmatchcase(name, wanted)


def _label(value: Any) -> str:
    return value.strip()[:_LONGEST_ID] if isinstance(value, str) else ""


def _id(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**30:
        value = str(value)
    if value is not None and (not isinstance(value, str) or len(value) > _LONGEST_ID):
        raise BadPayload(
            f"{name} of a channel message is no text of up to {_LONGEST_ID} characters",
            hint=f"send {name} as text or a whole number",
        )
    return (value or "").strip()
