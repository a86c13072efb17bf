"""The main agent's gate: its own instructions ask, and what an expert never calls is a draft here, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from colleague.agent.gate import CautiousGate, Verdict
from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.tier import ApprovalRule, approval_rule
from colleague.agent.restrictions import DraftOnly, NothingDrafted
from colleague.agent.tool import ToolSpec
from colleague.agent.tools.fence import folded
from colleague.agent.tools.patch import PatchError, parse_patch
from colleague.agent.tools.path import PathError, is_outside, split
from colleague.config.settings import Tier

INSTRUCTIONS = ("AGENTS", "SOUL", "IDENTITY", "USER", "TOOLS", "BOOTSTRAP", "HEARTBEAT")
"""Bootstrap files at the top of the workspace: whatever stands in them is told to every later turn."""

_FILES = frozenset(f"{name.casefold()}.md" for name in INSTRUCTIONS)
_FOLDERS = frozenset({"skills"})
_CHANGING = ("write", "edit")
_PATCHING = "apply_patch"


@dataclass(frozen=True)
class MainAgentGate:
    """What somebody else withholds is a draft; then `tools.approvals` counts; the rest is as for any agent
    without a policy. What a tool itself refuses stays refused."""

    draft_only: DraftOnly = field(default_factory=NothingDrafted)
    extra_files: Sequence[str] = ()
    """Patterns of files in folders that instruct as well."""
    approvals: Mapping[str, Tier] = field(default_factory=dict)
    read_only: Collection[str] = ()
    """Folders of skills, which no file tool changes: nobody is asked about what is refused anyway."""
    outside: bool = False
    """Whether its file tools leave the workspace."""

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        if spec.server:
            reason = self.draft_only.reason(spec.server, spec.server_tool)
            if reason:
                return Verdict("draft", "manual", reason)
        verdict = self._usual(spec, arguments)
        question = self._question(spec, arguments) if verdict.kind == "allow" and not spec.server else ""
        return Verdict("ask", "confirm", question) if question else verdict

    def _question(self, spec: ToolSpec, arguments: dict[str, Any]) -> str:
        """Why a person is asked about a change of files all the same; empty when nobody is."""
        changed = _changed_paths(spec.name, arguments)
        if any(is_instruction(each, self.extra_files) and not self._is_read_only(each) for each in changed):
            return "it changes what the agent is told in every turn"
        if self.outside and any(map(is_outside, changed)) and self._rule(spec) is None:
            return "it changes a file outside of the workspace"
        return ""

    def _is_read_only(self, path: str) -> bool:
        return "/".join(split(path)[:2]) in self.read_only

    def _usual(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        own = CautiousGate().judge(spec, arguments)
        rule = self._rule(spec)
        return own if rule is None or own.kind == "refuse" else rule.verdict

    def _rule(self, spec: ToolSpec) -> ApprovalRule | None:
        return approval_rule(self.approvals, PolicyTool.of(spec), reads=spec.read_only)


def _changed_paths(tool: str, arguments: dict[str, Any]) -> list[Any]:
    """The files that a call would change. A patch that cannot be read changes none."""
    if tool in _CHANGING:
        return [arguments.get("path")]
    if tool != _PATCHING:
        return []
    try:
        patches = parse_patch(str(arguments.get("input", "")))
    except PatchError:
        return []
    return [path for each in patches for path in each.paths]


def is_instruction(path: Any, extra: Sequence[str] = ()) -> bool:
    """Whether a file is one that instructs the agent. A path that cannot be used is left to the tool."""
    try:
        names = [folded(name) for name in split(path)] if isinstance(path, str) else []
    except PathError:
        return False
    if not names or (len(names) == 1 and names[0] in _FILES):
        return bool(names)
    return (len(names) > 1 and names[0] in _FOLDERS) or any(_fits(names, pattern) for pattern in extra)


def _fits(names: Sequence[str], pattern: str) -> bool:
    wanted = [folded(part) for part in PurePosixPath(pattern).parts]
    return len(wanted) == len(names) and all(map(fnmatchcase, names, wanted))
