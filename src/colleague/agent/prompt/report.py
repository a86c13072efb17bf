"""How long each part of a prompt is: for `colleague prompt --sizes`, and in the entry of a session."""

from __future__ import annotations

import json
from collections.abc import Sequence

from colleague.agent.prompt.assemble import Prompt
from colleague.agent.prompt.bootstrap_budget import ShownFile
from colleague.agent.prompt.prompt_input import PromptInput
from colleague.agent.tool import ToolSpec
from colleague.clock import iso
from colleague.session_document import PromptFileDocument, PromptReport

LATE = ("generated_at", "tool_schemas")
"""Fields that do not say whether a prompt is another one."""


def prompt_report(given: PromptInput, prompt: Prompt) -> PromptReport:
    """Characters of sections and files. A file that is cut, dropped or unreadable has a problem, in words.

    How long the definitions of the tools are is left to `with_schemas`: it takes its time."""
    defaults = given.settings.agents.defaults
    return {
        "generated_at": iso(given.now_ms),
        "mode": prompt.mode,
        "model": given.runtime.model,
        "workspace": str(given.settings.workspace),
        "bootstrap_max_chars": defaults.bootstrap_max_chars,
        "bootstrap_total_max_chars": defaults.bootstrap_total_max_chars,
        "chars": len(prompt.text),
        "stable_chars": len(prompt.stable),
        "sections": [
            {"name": each.name, "chars": len(each.text), "changes": each.changes} for each in prompt.sections
        ],
        "files": [_file(each) for each in given.files],
        "tools": [tool.name for tool in given.tools],
        "tool_schemas": {"count": len(given.tools), "chars": 0},
    }


def _file(shown: ShownFile) -> PromptFileDocument:
    return {
        "name": shown.name,
        "status": shown.status,
        "chars": shown.chars,
        "shown_chars": len(shown.text),
        "problem": shown.problem or None,
    }


def with_schemas(report: PromptReport, tools: Sequence[ToolSpec]) -> PromptReport:
    """Adds how long the definitions of the tools are, which are sent beside the prompt."""
    chars = sum(len(tool.definition) for tool in tools)
    return {**report, "tool_schemas": {"count": len(tools), "chars": chars}}


def is_same(report: PromptReport, stored: str | None) -> bool:
    """Whether the stored report is about the same prompt."""
    known = json.loads(stored) if stored else {}
    return {**known, **dict.fromkeys(LATE)} == {**report, **dict.fromkeys(LATE)}
