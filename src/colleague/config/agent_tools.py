"""What an agent may use: the `tools` of the settings, and of an agent in them."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from colleague.config.section import (
    Flag,
    Names,
    Positive,
    RenamedSection,
    Section,
    ToolProfile,
    keys,
    part,
    works,
)
from colleague.config.tool_lists import ToolLists


class ToolPolicy(ToolLists):
    profile: ToolProfile | None = works(
        default=None, description="The set of tools to start from: minimal, coding, messaging or full."
    )


class ToolLayer(Section):
    tools: ToolLists = part(ToolLists, description="What these sessions may use.")


class FileTools(Section):
    workspace_only: Flag = works(
        default=True,
        description="Whether file tools stay inside the workspace; false: absolute paths reach the disk,"
        " apart from keys and what belongs to others, and a change there asks first. Not in a sandbox.",
    )


class AllowedCommand(Section):
    program: str = works(description="Its name, found as commands find it, or its path.")
    args: Names | None = works(
        default=None,
        description="A pattern for each argument, * for any text; ** at the end for any more. Any arguments"
        " when not set.",
    )


class ExecTool(RenamedSection):
    renamed: ClassVar[Mapping[str, str]] = {"timeoutSec": "timeoutSeconds"}
    passed_over = keys(
        "host mode node safeBins safeBinTrustedDirs safeBinProfiles strictInlineEval commandHighlighting"
        " reviewer cleanupMs notifyOnExit notifyOnExitEmptySuccess approvalRunningNoticeMs grantExpiryDays"
        " applyPatch"
    )

    security: Literal["deny", "allowlist", "full"] | None = works(
        default=None,
        description="What exec may run: nothing, what the allowlist has, or anything (when not set). What is"
        " not allowed is refused, or asked about as `ask` says.",
    )
    ask: Literal["off", "on-miss", "always"] | None = works(
        default=None,
        description="Whether a person is asked first: never, for what the allowlist does not have (when not"
        " set), or for every command.",
    )
    allowlist: tuple[AllowedCommand, ...] = Field(
        default=(), description="Commands that run without a question."
    )
    timeout_seconds: Positive = works(default=1800, description="Seconds a command may run.")
    background_ms: Positive = works(
        default=10_000, description="Milliseconds until it goes on in the background."
    )
    path_prepend: Names = works(default=(), description="Folders put before PATH.")
    max_processes: Positive = works(
        default=500, description="Processes one command may have at once; with more, all are killed."
    )


class LoopDetection(Section):
    passed_over = keys(
        "historySize warningThreshold globalCircuitBreakerThreshold detectors semanticNoProgress"
    )

    enabled: Flag = works(default=True, description="Whether an agent that repeats itself is stopped.")
    critical_threshold: Positive = works(
        default=20, description="The same call so many times in a row stops it."
    )


class AgentTools(ToolPolicy):
    passed_over = keys(
        "toolsBySender codeMode swarm elevated message agentToAgent links media web sessions_spawn toolSearch"
    )

    by_provider: Mapping[str, ToolPolicy] = Field(
        default_factory=dict, description="The same for one provider, or one provider/model."
    )
    exec: ExecTool = part(ExecTool, description="Running commands.")
    fs: FileTools = part(FileTools, description="Reading and writing files.")
    loop_detection: LoopDetection = part(LoopDetection, description="Agents that repeat themselves.")
    sandbox: ToolLayer = part(ToolLayer, description="Tools in sandboxed sessions.")
