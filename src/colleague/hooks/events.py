"""What each hook is told. The name of a hook is the name of its event in small letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Phase = Literal["proposed", "approved"]
SentKind = Literal["answer", "delivery", "message"]


@dataclass(frozen=True)
class HookEvent:
    """Something that happens. `hook` is the name that a plugin registers for."""

    hook: ClassVar[str]


@dataclass(frozen=True)
class RunHookEvent(HookEvent):
    """Something that happens in a run. `expert` is empty for a turn of an agent that people talk to."""

    run_id: str
    session_key: str
    expert: str


@dataclass(frozen=True)
class BeforeAgentStart(RunHookEvent):
    """A run is about to ask its model, for the first time or again after a wait, a crash or a failure."""

    hook = "before_agent_start"
    message: str = ""
    """What a person said, where the run is a turn."""
    resumed: bool = False
    """Whether it goes on: what was prepended at its beginning still stands there."""


@dataclass(frozen=True)
class AgentEnded(RunHookEvent):
    """A run has ended; its outcome is committed."""

    hook = "agent_end"
    outcome: str = ""
    text: str = ""


@dataclass(frozen=True)
class BeforeCompaction(RunHookEvent):
    """A conversation is about to be shortened."""

    hook = "before_compaction"
    cause: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class AfterCompaction(RunHookEvent):
    """A conversation was shortened; `outcome` is completed, failed or aborted."""

    hook = "after_compaction"
    cause: str = ""
    outcome: str = ""
    tokens_before: int = 0
    tokens_after: int | None = None


@dataclass(frozen=True)
class BeforeReset(HookEvent):
    """A person is about to begin a session anew. `transcript` stays readable as an archive."""

    hook = "before_reset"
    session_key: str
    transcript: str
    by: str


@dataclass(frozen=True)
class BeforeToolCall(RunHookEvent):
    """A model wants a call (`proposed`), or a person has approved it and it is about to be made (`approved`).

    What was approved cannot be changed any more, only blocked."""

    hook = "before_tool_call"
    tool: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    phase: Phase = "proposed"


@dataclass(frozen=True)
class AfterToolCall(RunHookEvent):
    """A call was made, and its result is committed. Private results are not shown."""

    hook = "after_tool_call"
    call_id: str = ""
    tool: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    is_error: bool = False


@dataclass(frozen=True)
class ToolResultPersist(RunHookEvent):
    """The result of a call is about to be committed. Private results are not offered."""

    hook = "tool_result_persist"
    call_id: str = ""
    tool: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    is_error: bool = False
    source: str = ""


@dataclass(frozen=True)
class MessageReceived(HookEvent):
    """Somebody has said something to a session, and it is committed."""

    hook = "message_received"
    session_key: str
    text: str
    source: str
    """The way it came: command, api, page, chat, channel, ..."""
    sender: Mapping[str, str] = field(default_factory=dict)
    place: Mapping[str, str] = field(default_factory=dict)
    event_id: str = ""
    run_id: str | None = None


@dataclass(frozen=True)
class MessageSending(RunHookEvent):
    """Something is about to be told to people: an answer of a turn, a result, or a message of an agent."""

    hook = "message_sending"
    kind: SentKind = "answer"
    channel: str = ""
    text: str = ""


@dataclass(frozen=True)
class MessageDelivered(RunHookEvent):
    """Something was told to people: it is in the session, or its channel has taken it."""

    hook = "message_sent"
    kind: SentKind = "answer"
    channel: str = ""
    text: str = ""


@dataclass(frozen=True)
class SessionStart(HookEvent):
    """A session began, or began anew with another transcript."""

    hook = "session_start"
    session_key: str
    transcript: str


@dataclass(frozen=True)
class SessionEnd(HookEvent):
    """A session was closed, or its transcript archived by a reset. `by` says by whom or what."""

    hook = "session_end"
    session_key: str
    transcript: str
    by: str


@dataclass(frozen=True)
class GatewayStart(HookEvent):
    """The gateway takes requests."""

    hook = "gateway_start"
    url: str


@dataclass(frozen=True)
class GatewayStop(HookEvent):
    """The gateway takes no more requests, and ends what is under way."""

    hook = "gateway_stop"
    url: str


EVENTS: tuple[type[HookEvent], ...] = (
    BeforeAgentStart,
    AgentEnded,
    BeforeCompaction,
    AfterCompaction,
    BeforeReset,
    BeforeToolCall,
    AfterToolCall,
    ToolResultPersist,
    MessageReceived,
    MessageSending,
    MessageDelivered,
    SessionStart,
    SessionEnd,
    GatewayStart,
    GatewayStop,
)
HOOKS = tuple(each.hook for each in EVENTS)
