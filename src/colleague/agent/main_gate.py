"""The main agent's gate: its own instructions ask, and what an expert never calls is a draft here, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from colleague.agent.gate import CautiousGate, Verdict
from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.tier import approval_rule
from colleague.agent.restrictions import DraftOnly, NothingDrafted
from colleague.agent.tool import ToolSpec
from colleague.agent.tools.fence import folded
from colleague.agent.tools.patch import PatchError, parse_patch
from colleague.agent.tools.path import PathError, split
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

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        if spec.server:
            reason = self.draft_only.reason(spec.server, spec.server_tool)
            if reason:
                return Verdict("draft", "manual", reason)
        verdict = self._usual(spec, arguments)
        changed = () if spec.server else _changed_paths(spec.name, arguments)
        instructs = any(
            is_instruction(each, self.extra_files) and not self._is_read_only(each) for each in changed
        )
        if instructs and verdict.kind == "allow":
            return Verdict("ask", "confirm", "it changes what the agent is told in every turn")
        return verdict

    def _is_read_only(self, path: str) -> bool:
        return "/".join(split(path)[:2]) in self.read_only

    def _usual(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        own = CautiousGate().judge(spec, arguments)
        rule = approval_rule(self.approvals, PolicyTool.of(spec), reads=spec.read_only)
        return own if rule is None or own.kind == "refuse" else rule.verdict


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
