"""A channel of a plugin as a place for results and answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colleague.channels.channel import (
    Capability,
    ChannelError,
    MessageChannel,
    Outgoing,
    Target,
    require_capable,
)
from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.main_names import MAIN_AGENT, MAIN_SESSION
from colleague.session_key import SessionKey
from colleague.store.chat_answers import ANSWER
from colleague.store.outbox import OutboxMessage

SECONDS = 60.0


@dataclass(frozen=True)
class PluginDeliveries:
    """Sends what the outbox has for the channel. Its id is the key: the same again makes nothing twice."""

    channel: MessageChannel

    async def send(self, message: OutboxMessage) -> None:
        """Raises ChannelError, and then it is tried again later."""
        require_capable(self.channel, "send")
        body = json.loads(message.body)
        what = _answer(message, body) if message.kind == ANSWER else _result(message, body)
        threads = what.target.thread and "thread-reply" in self.channel.capabilities
        action: Capability = "thread-reply" if threads else "send"
        try:
            await call_plugin(self.channel.act, action, what, seconds=SECONDS)
        except (PluginCallFailed, PluginCallLate) as error:
            raise ChannelError(f"the channel {self.channel.name} did not take it: {error}") from None


def _result(message: OutboxMessage, body: dict[str, Any]) -> Outgoing:
    """To the channel's own place for results."""
    return Outgoing(Target(MAIN_AGENT, MAIN_SESSION), message.id, text=delivery_text(body))


def _answer(message: OutboxMessage, body: dict[str, Any]) -> Outgoing:
    """To the chat in which the agent was spoken to."""
    key = str(body["session_key"])
    return Outgoing(
        Target(SessionKey.parse(key).agent_id, key, body["to"], body["thread"]),
        message.id,
        text=body["narrative"],
        message_id=body["reply_to"],
        media=tuple(body["media"]),
        as_voice=body["as_voice"],
    )


def delivery_text(body: dict[str, Any]) -> str:
    """What a person reads of a result, a question or an escalation."""
    told = body.get("narrative") or body.get("reason") or body.get("text")
    outputs = body.get("outputs")
    shown = json.dumps(outputs if outputs is not None else body, ensure_ascii=False, indent=1)
    if told and outputs is not None:
        return f"{told}\n\n{shown}"
    return str(told) if told else shown
