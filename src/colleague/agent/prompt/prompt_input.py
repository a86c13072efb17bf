"""What a prompt is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.prompt.bootstrap_budget import ShownFile
from colleague.agent.prompt.runtime_info import RuntimeInfo
from colleague.agent.tool import ToolSpec
from colleague.config import Settings


@dataclass(frozen=True)
class PromptInput:
    """Everything that the sections are chosen by: settings, tools, files, and where the turn runs.

    `skills`, `docs`, `sandbox`, `owners` and `voice` are texts of parts that may not be there."""

    settings: Settings
    runtime: RuntimeInfo
    now_ms: int
    tools: Sequence[ToolSpec] = ()
    files: Sequence[ShownFile] = ()
    chat_type: str = ""
    """dm, group or channel; empty where no chat is."""
    subagent: str = ""
    """The role and the task of a sub-agent."""
    extra: str = ""
    """What the caller of this turn adds."""
    reasoning_tags: bool = False
    """Whether the model is to write its reasoning between tags, because it has no other way."""
    skills: str = ""
    docs: str = ""
    sandbox: str = ""
    own_folder: bool = False
    outside: bool = False
    owners: Sequence[str] = ()
    voice: str = ""

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)
