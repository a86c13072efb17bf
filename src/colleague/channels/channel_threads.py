"""Threads of the connected channels: opening one for a sub-agent, reading one that an agent comes into."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from colleague.agent.tool import NotSent
from colleague.channels.channel import MessageChannel, Outgoing, ReadMessage, Target
from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.store.chat_answers import ChatTarget
from colleague.store.session_entry import SessionEntry

log = logging.getLogger(__name__)

SECONDS = 60.0
MOST_NAME = 100


@dataclass(frozen=True)
class ChannelThreads:
    """A `sessions/threads.py::ThreadOpener` and a `agent/thread_history.py::ThreadHistory`."""

    channels: Mapping[str, MessageChannel]

    async def open_thread(
        self, entry: SessionEntry, place: Mapping[str, str], name: str, key: str
    ) -> dict[str, str]:
        channel, to = self.channels.get(place.get("channel", "")), place.get("to", "")
        if channel is None or not to:
            raise NotSent("this conversation is on no channel that has threads; spawn it without thread")
        if "thread-create" not in channel.capabilities:
            raise NotSent(f"the channel {channel.name} cannot open threads; spawn it without thread")
        target = Target(entry.agent_id, entry.key, to)
        what = Outgoing(target, key, message_id=place.get("message", ""), name=name[:MOST_NAME])
        try:
            thread = await call_plugin(channel.act, "thread-create", what, seconds=SECONDS)
        except PluginCallFailed as error:
            raise NotSent(f"the channel {channel.name} did not open a thread: {error}") from None
        except PluginCallLate as error:
            raise NotSent(
                f"it is not known whether {channel.name} opened a thread ({error}); look before you try again"
            ) from None
        return {"channel": channel.name, "to": to, "thread": str(thread)}

    async def earlier(self, entry: SessionEntry, target: ChatTarget) -> str:
        channel = self.channels.get(target.channel)
        if channel is None or not target.history or "read" not in channel.capabilities:
            return ""
        place = Target(entry.agent_id, entry.key, target.to, target.thread)
        try:
            found = await call_plugin(channel.read, place, target.history, seconds=SECONDS)
        except (PluginCallFailed, PluginCallLate) as error:
            log.warning("the thread %s of %s could not be read: %s", target.thread, channel.name, error)
            return ""
        return "\n".join(_line(each) for each in found if each.id != target.message)


def _line(message: ReadMessage) -> str:
    return f"{message.at} {message.sender}: {message.text}".strip()
