"""What happens during a run, as events: the same from the worker of this process and from a gateway.

Every kind has the type of its data, under the same name. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Kind = Literal[
    "agent_start",
    "message_start",
    "message_update",
    "message_end",
    "message_retry",
    "message_slow",
    "messages_steered",
    "block_reply",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "auto_compaction_start",
    "auto_compaction_end",
    "approval_requested",
    "approval_decided",
    "run_status",
    "agent_end",
    "gateway_lost",
    "gateway_back",
]
"""`gateway_lost` and `gateway_back` are told by whoever listens to a gateway, never by one. `block_reply` is
told only to whoever asks for blocks."""

Stream = Literal["lifecycle", "compaction", "assistant", "tool", "approval", "gateway"]

_STREAMS: Mapping[str, Stream] = {
    "message": "assistant",
    "messages": "assistant",
    "block": "assistant",
    "tool": "tool",
    "auto": "compaction",
    "approval": "approval",
    "gateway": "gateway",
}


class AgentStart(TypedDict):
    """A worker has taken the run."""

    attempt: int


class MessageStart(TypedDict):
    """The model is asked for its answer number `turn`."""

    turn: int


class MessageUpdate(TypedDict):
    """More of an answer: words for people, or what the model thinks. With `void`, the text that was told of
    this answer before is not part of it: the answer proper has begun with a `<final>`."""

    text: NotRequired[str]
    thinking: NotRequired[str]
    void: NotRequired[bool]


class MessageEnd(TypedDict):
    """A whole answer, which counts whatever was told of it before. `silent` is the word by which the agent
    chose to say nothing. `reply_to` is `current`, or the id of a message."""

    text: str
    reasoning: str
    media: list[str]
    reply_to: str | None
    as_voice: bool
    silent: str | None


class MessageRetry(TypedDict):
    """The model failed and is asked again; what was told of this answer is void."""

    model: str
    error: str
    text: str
    attempt: int
    in_ms: int
    next_try_at: str | None


class MessageSlow(TypedDict):
    """The model has said nothing for a while."""

    model: str
    seconds: float
    text: str


class MessagesSteered(TypedDict):
    """Messages of people were put before the next decision."""


class BlockReply(TypedDict):
    """A part of an answer that can be sent as a message of its own."""

    text: str
    media: list[str]
    reply_to: str | None
    as_voice: bool


class ToolExecutionStart(TypedDict):
    """A call begins."""

    call_id: str
    operation: str
    arguments: Any


class ToolExecutionUpdate(TypedDict):
    """Output of a call that is under way."""

    call_id: str
    text: str


class ToolExecutionEnd(TypedDict):
    """What came of a call."""

    call_id: str
    operation: str
    status: str
    result: str
    is_error: bool
    seconds: NotRequired[float | None]


class AutoCompactionStart(TypedDict):
    """Old turns are being summarised."""

    cause: str
    tokens_before: int


class AutoCompactionEnd(TypedDict):
    """How that came out, in `text` for people. `will_retry`: the model is asked again with what is left."""

    cause: str
    tokens_before: int
    outcome: Literal["completed", "failed", "aborted"]
    will_retry: bool
    text: str
    tokens_after: NotRequired[int]
    messages: NotRequired[int]


class AgentEnd(TypedDict):
    """The run has ended. `text` is its last answer, or why it failed."""

    outcome: str | None
    text: str


PAYLOADS: Mapping[Kind, type] = {
    "agent_start": AgentStart,
    "message_start": MessageStart,
    "message_update": MessageUpdate,
    "message_end": MessageEnd,
    "message_retry": MessageRetry,
    "message_slow": MessageSlow,
    "messages_steered": MessagesSteered,
    "block_reply": BlockReply,
    "tool_execution_start": ToolExecutionStart,
    "tool_execution_update": ToolExecutionUpdate,
    "tool_execution_end": ToolExecutionEnd,
    "auto_compaction_start": AutoCompactionStart,
    "auto_compaction_end": AutoCompactionEnd,
    "agent_end": AgentEnd,
}
"""Of the kinds that a run tells; `run_status` has the fields of the run's document."""


@dataclass(frozen=True)
class RunEvent:
    """One thing that happened in a run. `data` is JSON."""

    kind: Kind
    run_id: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def stream(self) -> Stream:
        """What it is about: the run itself, its context, what is said, what is done."""
        return _STREAMS.get(self.kind.partition("_")[0], "lifecycle")

    @property
    def is_rest(self) -> bool:
        """Whether only a person can move the run now: it is done, waits, or stands behind one that waits."""
        if self.kind != "run_status":
            return False
        waits = self.data["status"] == "waiting" and bool(self.data["waiting_on"])
        return self.data["status"] == "done" or waits or self.data["blocked_by"] is not None
