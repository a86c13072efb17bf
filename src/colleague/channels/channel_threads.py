"""Threads of the connected channels, for sub-agents that get one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from colleague.agent.tool import NotSent
from colleague.channels.channel import MessageChannel, Outgoing, Target
from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.store.session_entry import SessionEntry

SECONDS = 60.0
MOST_NAME = 100


@dataclass(frozen=True)
class ChannelThreads:
    """A `sessions/threads.py::ThreadOpener`."""

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
