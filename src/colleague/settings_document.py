"""What a home is connected to, as documents: the same from the store to the page and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

KeyState = Literal["set", "missing", "not needed", "unknown"]


class OfferedModel(TypedDict):
    """A model that can be named. `problem` says why it cannot be asked."""

    name: str
    default: bool
    origin: str
    key: KeyState
    key_source: str
    api: str
    context_window: int | None
    problem: str


class ModelProbe(TypedDict):
    """What came of one tiny request."""

    model: str
    ok: bool
    seconds: float
    answer: str
    error: str
    hint: str


class ToolChange(TypedDict):
    """A tool that is not as a person accepted it; `lines` as a unified diff."""

    change: str
    lines: list[str]


class McpServerDocument(TypedDict):
    """An MCP server. `digest` is of its entry in the settings; `findings` what of its tools is left out;
    `changes` what of them is not as a person accepted it, `tools_digest` of its tools as they were listed
    last."""

    name: str
    transport: str
    where: str
    state: Literal["disabled", "held", "idle", "starting", "up", "waiting", "needs_login", "stopped"]
    digest: str
    tools: int | None
    error: str
    findings: list[str]
    changes: list[ToolChange]
    tools_digest: str


class ServerProbe(TypedDict):
    """What came of listing the tools of a server."""

    name: str
    ok: bool
    seconds: float
    tools: list[str]
    error: str
    hint: str


class ChannelDocument(TypedDict):
    """A place that results can be sent to, or that the settings name without anything connecting to it."""

    name: str
    connected: bool
    about: str


class IdleKey(TypedDict):
    """A key of the settings that is set and has no effect, and what to do."""

    key: str
    where: str
    reason: str
    cure: str


class DoctorFinding(TypedDict):
    """One thing that was looked at, and the cure."""

    about: str
    level: Literal["ok", "warning", "error"]
    message: str
    cure: str
