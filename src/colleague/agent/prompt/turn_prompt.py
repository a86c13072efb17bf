"""The prompt of one turn of an agent: its session, its tools and its workspace, as they are now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from colleague.agent.prompt.assemble import Prompt, assemble_prompt
from colleague.agent.prompt.bootstrap_budget import ShownFile
from colleague.agent.prompt.bootstrap_files import (
    BOOTSTRAP,
    EXPERTS,
    FIRST_CONVERSATION,
    SUBAGENT,
)
from colleague.agent.prompt.prompt_input import PromptInput
from colleague.agent.prompt.report import prompt_report
from colleague.agent.prompt.runtime_info import RuntimeInfo
from colleague.agent.prompt.subagent import subagent_context
from colleague.agent.prompt.surroundings_text import TTS, docs_text, owners, voice_text
from colleague.agent.prompt.workspace_files import shown_files
from colleague.agent.tool import ToolSpec
from colleague.config import Settings
from colleague.session_document import PromptMode, PromptReport
from colleague.session_key import SessionKey
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class TurnPrompt:
    """Makes the prompt, and says how long its parts are."""

    settings: Settings
    entry: SessionEntry
    now_ms: int
    tools: Sequence[ToolSpec] = ()
    model: str = ""
    thinking: str = ""
    extra: str = ""
    skills: str = ""
    """The index of skills, for an agent that can read them."""
    first: bool = False
    """Whether BOOTSTRAP.md is told."""
    reasoning_tags: bool = False
    sandbox: str = ""
    """What is said of the session's sandbox."""
    own_folder: bool = False
    outside: bool = False
    """Whether its files are not those of the workspace."""
    channel: str = ""
    """The channel that the turn is answered on; that of the session when not given."""
    capabilities: Collection[str] = ()
    """What the channel can do."""
    wanted_mode: PromptMode | None = None
    """The mode of the session when not set: `minimal` for sub-agents, `full` for all others."""

    @cached_property
    def mode(self) -> PromptMode:
        return self.wanted_mode or ("minimal" if self._is_subagent else "full")

    @cached_property
    def _is_subagent(self) -> bool:
        return SessionKey.parse(self.entry.key).is_subagent

    @cached_property
    def given(self) -> PromptInput:
        return PromptInput(
            settings=self.settings,
            runtime=self._runtime(),
            now_ms=self.now_ms,
            tools=self.tools,
            files=() if self.mode == "none" else self._files(),
            chat_type=self.entry.chat_type or "",
            subagent=subagent_context(self.entry) if self._is_subagent else "",
            extra=self.extra,
            skills=self.skills if "read" in self._tool_names else "",
            reasoning_tags=self.reasoning_tags,
            sandbox=self.sandbox,
            own_folder=self.own_folder,
            outside=self.outside,
            docs=docs_text(self.settings, reachable=self.outside),
            owners=owners(self.settings) if self.entry.chat_type else (),
            voice=voice_text(self.settings) if TTS in self._tool_names else "",
        )

    @cached_property
    def _tool_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)

    def _runtime(self) -> RuntimeInfo:
        return RuntimeInfo(
            self.entry.agent_id,
            self.model,
            self.thinking,
            self.channel or self.entry.channel or "",
            tuple(sorted(self.capabilities)),
            shell="bash" if "exec" in self._tool_names else "",
        )

    @cached_property
    def prompt(self) -> Prompt:
        return assemble_prompt(self.given, self.mode)

    @property
    def report(self) -> PromptReport:
        return prompt_report(self.given, self.prompt)

    def _files(self) -> list[ShownFile]:
        names: Sequence[str] = SUBAGENT if self.mode == "minimal" else (*BOOTSTRAP, EXPERTS)
        if not self.first:
            names = [name for name in names if name != FIRST_CONVERSATION]
        return shown_files(self.settings, names)
