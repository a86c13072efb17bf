"""The tool with which an agent writes to people elsewhere than in its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, cast, get_args

from colleague.agent.gate import Verdict
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, UnknownEnd, refused
from colleague.agent.tools.arguments import Arguments, number, parameters, text
from colleague.channels.channel import (
    Capability,
    ChannelError,
    MessageChannel,
    Outgoing,
    Target,
    require_capable,
)
from colleague.channels.channel_list import SESSION_CHANNELS
from colleague.config import Settings
from colleague.errors import ColleagueError, UsageError
from colleague.hooks.events import MessageDelivered, MessageSending
from colleague.hooks.runner import NO_HOOKS, GuardFailed, PluginHooks
from colleague.main_names import MAIN_CHANNEL
from colleague.session_key import SessionKey
from colleague.store.chat_answers import can_go_along
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry

MOST_READ, USUAL_READ = 100, 20
_DESCRIPTION = (
    "Writes to people elsewhere than in your answer, which they see anyway. channel and to say where; "
    "without them it is this session's own place. read returns the last messages there. Connected: "
    "{channels}."
)
THREAD_HINT = (
    " This session is in the middle of a thread and knows nothing of what was said in it before: read it "
    "first, with action read."
)
EXPLICIT = " Name channel and to: a sub-agent has no place of its own."


@dataclass(frozen=True)
class MessageTools:
    """Gives `message`; the tool policy decides who has it."""

    channels: Mapping[str, MessageChannel]
    hooks: PluginHooks = NO_HOOKS

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return (MessageTool(self.channels, entry, self.hooks),)


@dataclass(frozen=True)
class MessageTool:
    """`message`: send, read, react, thread-create, thread-reply."""

    channels: Mapping[str, MessageChannel]
    entry: SessionEntry
    hooks: PluginHooks = NO_HOOKS

    @cached_property
    def spec(self) -> ToolSpec:
        key = SessionKey.parse(self.entry.key)
        fresh_thread = key.thread_id is not None and self.entry.positions <= 1
        hint = THREAD_HINT if fresh_thread else EXPLICIT if key.is_subagent else ""
        return ToolSpec(
            name="message",
            description=_DESCRIPTION.format(channels=", ".join(self.channels)) + hint,
            parameters=_PARAMETERS,
            repeatable=True,
            told=True,
            own_verdict=self.verdict,
        )

    def verdict(self, arguments: dict[str, Any]) -> Verdict:
        """Reading is free, and so is writing where the answer goes anyway; to anybody else it asks."""
        if arguments.get("action") == "read" or self._is_own_place(arguments):
            return Verdict("allow", "auto")
        return Verdict("ask", "confirm", "it writes to somebody outside of this conversation")

    def _is_own_place(self, arguments: dict[str, Any]) -> bool:
        """Our own channels end in sessions of this home; one that is not connected reaches nobody."""
        key = SessionKey.parse(self.entry.key)
        channel = str(arguments.get("channel") or "").strip().casefold() or key.channel or MAIN_CHANNEL
        if channel in SESSION_CHANNELS or channel not in self.channels:
            return True
        to = str(arguments.get("to") or "").strip() or key.peer_id
        return key.kind == "chat" and (channel, to) == (key.channel, key.peer_id)

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            return await self._act(Arguments.of(self.spec, request.arguments), request)
        except ColleagueError as error:
            return refused(error)

    async def _act(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:
        action = cast("Capability", arguments.text("action"))
        if action not in get_args(Capability):
            raise UsageError(
                f"there is no action {action!r}", hint=f"one of: {', '.join(get_args(Capability))}"
            )
        channel, target = self._place(arguments)
        require_capable(channel, action)
        if action == "read":
            limit = arguments.number("limit", USUAL_READ, most=MOST_READ)
            return await _read(channel, target, limit)
        what = Outgoing(
            target,
            request.key,
            text=arguments.text("text", ""),
            message_id=arguments.text("message_id", ""),
            emoji=arguments.text("emoji", ""),
            name=arguments.text("name", ""),
            media=_media(arguments.text("media", "").strip()),
        )
        _check(action, what)
        about = {
            "run_id": request.run_id,
            "session_key": self.entry.key,
            "expert": "",
            "channel": channel.name,
        }
        if what.text and self.hooks.has(MessageSending.hook):
            await _require_sendable(self.hooks, MessageSending(**about, kind="message", text=what.text))
        made = await _do(channel, action, what)
        if what.text:
            self.hooks.tell(MessageDelivered(**about, kind="message", text=what.text))
        return made

    def _place(self, arguments: Arguments) -> tuple[MessageChannel, Target]:
        """The channel and the place in it: as said, else the session's own. Raises UsageError."""
        key = SessionKey.parse(self.entry.key)
        wanted = arguments.text("channel", "").strip().casefold()
        to, thread = arguments.text("to", "").strip(), arguments.text("thread", "").strip()
        if key.is_subagent and not (wanted and to):
            raise UsageError(
                "channel and to are missing", hint="a sub-agent names both, or returns plain text"
            )
        name = wanted or key.channel or MAIN_CHANNEL
        channel = self.channels.get(name)
        if channel is None:
            known = ", ".join(self.channels)
            raise UsageError(f"the channel {name!r} cannot be written to here", hint=f"connected: {known}")
        if not to and key.kind == "chat":
            to = (key.peer_id or "") if name == key.channel else ""
            thread = thread or (key.thread_id or "")
        return channel, Target(self.entry.agent_id, self.entry.key, to, thread)


def _media(address: str) -> tuple[str, ...]:
    if address and not can_go_along(address):
        raise UsageError(f"{address!r} cannot go along", hint="an address media:... of a tool, or of the web")
    return (address,) if address else ()


def _check(action: Capability, what: Outgoing) -> None:
    """Raises UsageError for what is missing."""
    needed = {
        "send": ("text", what.text),
        "react": ("emoji", what.emoji),
        "thread-create": ("name", what.name),
        "thread-reply": ("text", what.text),
    }
    name, value = needed[action]
    if not value.strip():
        raise UsageError(f"{name} is missing", hint=f"{action} needs it")
    if action == "react" and not what.message_id:
        raise UsageError("message_id is missing", hint="read shows the ids")
    if action == "thread-reply" and not what.target.thread:
        raise UsageError("thread is missing", hint="thread-create returns its id")


async def _require_sendable(hooks: PluginHooks, event: MessageSending) -> None:
    """Raises ChannelError when a plugin holds it back. Its words cannot be changed here: a person may have
    approved just these. `before_tool_call` can."""
    try:
        change = await hooks.message_sending(event)
    except GuardFailed as error:
        raise ChannelError(str(error)) from None
    if change.refusal:
        raise ChannelError(change.refusal)


async def _do(channel: MessageChannel, action: Capability, what: Outgoing) -> ToolOutput:
    try:
        made = await channel.act(action, what)
    except ChannelError:
        raise
    except OSError as error:
        raise UnknownEnd(f"the channel {channel.name} gave no answer: {error}") from error
    return ToolOutput(f"Done on {channel.name}: {action} ({made}).")


async def _read(channel: MessageChannel, target: Target, limit: int) -> ToolOutput:
    found = await channel.read(target, limit)
    if not found:
        return ToolOutput("There are no messages there.")
    lines = json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=1)
    return ToolOutput(lines, source=f"channel:{channel.name}")


_PARAMETERS = parameters(
    "action",
    action={"type": "string", "enum": list(get_args(Capability)), "description": "What to do."},
    channel=text("The channel; this session's own when not given"),
    to=text("The person, group, channel or session there"),
    thread=text("The thread there"),
    text=text("For send and thread-reply: what is said"),
    message_id=text("For react and thread-create: the message it is about"),
    emoji=text("For react"),
    name=text("For thread-create: the title"),
    media=text("For send and thread-reply: media:... of a tool, or a web address, to go along"),
    limit=number(f"For read: how many messages; {USUAL_READ} when not given"),
)
