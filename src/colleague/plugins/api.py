"""What a plugin is given: `register(api)` is called once, when it is loaded."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.errors import UsageError
from colleague.home import Home
from colleague.hooks.handler import HookFunction, HookHandler
from colleague.plugins.providers import ModelProvider, SearchProvider, SpeechProvider
from colleague.plugins.tool import PluginTool, ToolFunction

if TYPE_CHECKING:
    from colleague.channels.channel import MessageChannel
    from colleague.plugins.message_receiver import MessageReceiver

TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass
class PluginApi:
    """Takes down what a plugin adds. Nothing counts before `register` has returned without an error."""

    name: str
    folder: Path
    """Where its files are."""
    data: Path
    """Where it may keep files of its own; made when it is loaded."""
    digest: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """`plugins.entries.<name>.config` of the settings, with `${NAME}` filled in."""
    channel_config: Callable[[str], Mapping[str, Any]] = lambda _: {}
    """`channels.<channel>` of the settings, by the name of the channel, filled in the same way."""
    receiver: MessageReceiver | None = None
    handlers: list[HookHandler] = field(default_factory=list)
    tools: dict[str, PluginTool] = field(default_factory=dict)
    channels: dict[str, MessageChannel] = field(default_factory=dict)
    model_providers: dict[str, ModelProvider] = field(default_factory=dict)
    search_providers: dict[str, SearchProvider] = field(default_factory=dict)
    speech_providers: dict[str, SpeechProvider] = field(default_factory=dict)

    @property
    def log(self) -> logging.Logger:
        """Writes into the log of the home."""
        return logging.getLogger(f"colleague.plugin.{self.name}")

    def on(self, hook: str, handler: HookFunction, *, priority: float = 0, required: bool = False) -> None:
        """Calls `handler` with the event of a hook. Of modifying hooks, higher priorities go first."""
        self.handlers.append(HookHandler(self.name, hook, handler, priority, required))

    def add_tool(
        self,
        name: str,
        description: str,
        function: ToolFunction,
        *,
        parameters: Mapping[str, Any] | None = None,
        reads: bool = False,
        repeatable: bool = False,
        timeout_seconds: float = 60,
    ) -> None:
        """A tool for the agents that people talk to. `parameters` is a JSON Schema of an object. A person is
        asked before each call, unless it only `reads`. `repeatable`: calling it twice does no harm."""
        _require_new(name, TOOL_NAME, self.tools, "tool")
        self.tools[name] = PluginTool.of(
            self.name,
            self.digest,
            name,
            description,
            function,
            parameters=dict(parameters or NO_ARGUMENTS),
            reads=reads,
            repeatable=repeatable,
            timeout_seconds=timeout_seconds,
        )

    def add_channel(self, channel: MessageChannel) -> None:
        """A channel that agents can write to and results can be delivered to."""
        _require_new(channel.name, PROVIDER_NAME, self.channels, "channel")
        self.channels[channel.name] = channel

    async def receive(self, channel: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Brings a message of a channel that this plugin has: `sender_id`, `message_text`, and what else
        `/api/channels/NAME/messages` takes. It is stored when this returns what became of it. Raises
        ColleagueError for one that is not taken, or while no gateway runs here."""
        if channel not in self.channels:
            raise UsageError(f"the plugin has no channel {channel!r}", hint="add it with add_channel")
        if self.receiver is None:
            raise UsageError("messages are taken only in a gateway")
        return await self.receiver.receive(channel, message)

    def media(self, address: str) -> bytes | None:
        """What is kept here under an address such as `media:SHA256`; None when there is nothing."""
        from colleague.agent.pictures.media import MediaRef, load_picture

        ref = MediaRef.of(address, "")
        return load_picture(Home(self.data.parents[2]), ref) if ref else None

    def add_model_provider(self, name: str, provider: ModelProvider) -> None:
        """Models that are called `<name>/<model>`."""
        _require_new(name, PROVIDER_NAME, self.model_providers, "model provider")
        self.model_providers[name] = provider

    def add_search_provider(self, name: str, provider: SearchProvider) -> None:
        """A way for `web_search` to search."""
        _require_new(name, PROVIDER_NAME, self.search_providers, "search provider")
        self.search_providers[name] = provider

    def add_speech_provider(self, name: str, provider: SpeechProvider) -> None:
        """A way for `tts` to speak."""
        _require_new(name, PROVIDER_NAME, self.speech_providers, "speech provider")
        self.speech_providers[name] = provider

    @property
    def registered(self) -> dict[str, list[str]]:
        """The names of all that was added, by what it is."""
        return {
            "hooks": sorted({each.hook for each in self.handlers}),
            "tools": sorted(self.tools),
            "channels": sorted(self.channels),
            "model_providers": sorted(self.model_providers),
            "search_providers": sorted(self.search_providers),
            "speech_providers": sorted(self.speech_providers),
        }


def _require_new(name: object, pattern: re.Pattern[str], known: Mapping[str, Any], what: str) -> None:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a {what}", hint=f"it is like {pattern.pattern}")
    if name in known:
        raise UsageError(f"the {what} {name!r} was added twice")
