"""A session and what was said in it as documents: the same from the store to the terminal and over HTTP.

Imports nothing heavy, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

SessionStatus = Literal["idle", "running", "waiting", "queued"]
Queued = Literal[
    "started", "steered", "collected", "queued", "interrupted", "dropped", "denied", "reset", "stopped"
]
CHANGEABLE = ("label", "model", "thinking", "reasoning", "verbose", "send_policy", "queue_mode")
"""What a person may set of a session; null clears it."""

STOPPED = "stopped"
"""The source of an answer that somebody stopped: how it began, not the whole of it."""


class SessionDocument(TypedDict):
    """The entry of a session. `parked` counts questions that wait while the conversation goes on; `waiting`
    counts messages that wait for the turn at work; `child_questions` wait in work that it handed over."""

    key: str
    session_id: str
    agent_id: str
    label: str | None
    status: SessionStatus
    run_id: str | None
    parked: int
    child_questions: list[str]
    waiting: int
    created_at: str | None
    updated_at: str | None
    started_at: str | None
    session_file: str | None
    channel: str | None
    chat_type: str | None
    group_id: str | None
    origin: Any
    spawned_by: str | None
    spawn_depth: int
    provider_override: str | None
    model_override: str | None
    auth_profile_override: str | None
    auth_profile_override_source: str | None
    thinking_level: str | None
    verbose_level: str | None
    reasoning_level: str | None
    send_policy: str | None
    queue_mode: str | None
    input_tokens: int
    output_tokens: int
    compaction_count: int
    skills_snapshot: Any
    system_prompt_report: PromptReport | None
    context: Any
    """What the model was last shown, in tokens of each part; null before the first turn."""
    positions: int


PromptMode = Literal["full", "minimal", "none"]


class PromptSectionDocument(TypedDict):
    """A section of a prompt; one that `changes` from turn to turn stands at the end."""

    name: str
    chars: int
    changes: bool


class PromptFileDocument(TypedDict):
    """A bootstrap file, and how much of it is shown. `problem` is for people."""

    name: str
    status: Literal["whole", "cut", "dropped", "empty", "missing", "unreadable", "refused"]
    chars: int
    shown_chars: int
    problem: str | None


class ToolSchemasDocument(TypedDict):
    """The definitions of tools, which are sent beside the prompt."""

    count: int
    chars: int


class PromptReport(TypedDict):
    """How long the parts of a prompt are. The first `stable_chars` of it are the same in the next turn."""

    generated_at: str | None
    mode: PromptMode
    model: str
    workspace: str
    bootstrap_max_chars: int
    bootstrap_total_max_chars: int
    chars: int
    stable_chars: int
    sections: list[PromptSectionDocument]
    files: list[PromptFileDocument]
    tools: list[str]
    tool_schemas: ToolSchemasDocument


class PromptDocument(PromptReport):
    """The prompt that the next turn of a session would have."""

    session: str
    prompt: str


class ItemCall(TypedDict):
    """A call that an answer asked for."""

    id: str
    operation: str
    status: str
    arguments: Any
    result: str | None


class ItemDocument(TypedDict):
    """One thing that people saw in a session."""

    position: int
    role: Literal["user", "assistant", "event"]
    text: str
    reasoning: str
    run_id: str | None
    at: str | None
    source: str
    attachments: Any
    calls: list[ItemCall]


def is_stopped(item: ItemDocument) -> bool:
    return item["role"] == "assistant" and item["source"] == STOPPED


class ArchiveDocument(TypedDict):
    """A transcript that a reset has ended."""

    id: str
    started_at: str | None
    ended_at: str | None
    ended_by: str


class HitDocument(TypedDict):
    """Where something was said. `archive` is null in the transcript in use."""

    session_key: str
    label: str | None
    position: int
    archive: str | None
    role: Literal["user", "assistant", "event"]
    excerpt: str
    at: str | None


class StoppedDocument(TypedDict):
    """What a stop ended: the turn at work, how many messages that waited, how much it had handed over."""

    run_id: str | None
    dropped: int
    children: int
