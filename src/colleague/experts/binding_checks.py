"""Phase 2 of validation: bindings and servers, as far as files tell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import PackageError
from colleague.experts.accepted import accept_command, not_accepted
from colleague.experts.bindings import Bindings, ToolBinding, read_bindings
from colleague.experts.bound_skills import has_scripts
from colleague.experts.expert import Expert
from colleague.experts.runs.required_tools import not_configured, server_hint
from colleague.experts.workspace.workspace import Workspace
from colleague.files import OWNER_HINT, is_there
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS, MANIFEST
from colleague.packages.package import Package
from colleague.packages.trigger import asked_operations
from colleague.packages.validate import check_learnings_scope
from colleague.skills.lookup import SkillLookup, SkillUnavailable
from colleague.skills.skill import FILE_TOOLS
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.config import Settings


@dataclass(frozen=True)
class BindingContext:
    """What an expert meets in this home: servers by name, skills, its workspace."""

    settings_file: str
    servers: tuple[str, ...]
    skills: SkillLookup
    workspace: Workspace


def binding_context(
    settings: Settings, home_root: Path, expert: str, plugin_skills: Sequence[Path] = ()
) -> BindingContext:
    """`plugin_skills` are folders with skills of plugins."""
    return BindingContext(
        settings_file=str(home_root / "colleague.json"),
        servers=tuple(settings.mcp.servers),
        skills=SkillLookup.of(settings, os.environ, plugin_skills),
        workspace=Workspace.of(settings.workspace, expert),
    )


def check_bindings(expert: Expert, package: Package, around: BindingContext, findings: Findings) -> Bindings:
    before = len(findings.errors)
    bindings = read_bindings(expert.bindings_file, findings)
    if bindings != Bindings() or len(findings.errors) == before:  # else nobody knows what is bound
        _check_required(expert, package, bindings, findings)
    for name, binding in bindings.tools.items():
        _check_tool(name, binding, package, findings)
        if binding.type == "skill":
            _check_skill(name, binding, package, around, findings)
        else:
            _check_server(name, binding, binding.server, around, findings)
    _check_triggers(package, bindings, findings)
    _check_state(expert, package, around, findings)
    _check_learnings(package, around, findings)
    _check_accepted(expert, package, findings)
    return bindings


def _check_accepted(expert: Expert, package: Package, findings: Findings) -> None:
    try:
        withheld = not_accepted(expert, package)
    except PackageError as error:
        findings.add("not-accepted", Mark(MANIFEST), error.message, error.hint)
        return
    for change in withheld:
        message = f"{change.what}: does not count until it is accepted"
        findings.add("not-accepted", Mark(MANIFEST), message, accept_command(expert))


def _check_required(expert: Expert, package: Package, bindings: Bindings, findings: Findings) -> None:
    for tool in package.manifest.requires_tools:
        if tool not in bindings.tools:
            hint = f"colleague expert bind {expert.name} {tool} SERVER"
            findings.add("tool-unbound", Mark(BINDINGS), f"tool {tool!r} is bound to nothing", hint)


def _check_tool(name: str, binding: ToolBinding, package: Package, findings: Findings) -> None:
    asked = asked_operations(package.triggers, name)
    if name not in package.manifest.requires_tools and not asked:
        hint = did_you_mean(name, package.manifest.requires_tools)
        findings.add("binding-tool-unknown", binding.at, f"the package needs no tool {name!r}", hint)
        return
    tool = package.tool(name)
    known = [operation.name for operation in tool.operations] if tool else []
    for field, operations in (
        ("operations", list(binding.operations)),
        ("repeatable", list(binding.repeatable)),
        ("reads", list(binding.reads)),
    ):
        for operation in operations:
            if known and operation not in (*known, *asked):
                at = binding.mark(field, operation) if field == "operations" else binding.mark(field)
                message = f"{name} has no operation {operation!r}"
                findings.add("binding-operation-unknown", at, message, did_you_mean(operation, known))


def _check_skill(
    name: str, binding: ToolBinding, package: Package, around: BindingContext, findings: Findings
) -> None:
    """The skill can be used, its servers are there, and each operation has a tool that it allows."""
    try:
        skill = around.skills.require(binding.server)
    except SkillUnavailable as error:
        message = f"{name} is bound to the skill {binding.server!r}, which {error.message}"
        code = "skill-unusable" if error.is_installed else "skill-unknown"
        findings.add(code, _skill_mark(binding), message, error.hint)
        return
    if has_scripts(skill):
        message = f"{name}: the skill {skill.name} has scripts, which an expert can read and cannot run"
        hint = "have an MCP server do what they do, and name its tools in allowed-tools"
        findings.add("skill-scripts", _skill_mark(binding), message, hint)
    for server in skill.servers:
        _check_server(name, binding, server, around, findings)
    tool = package.tool(name)
    for operation in tool.operations if tool else ():
        wanted = binding.operations.get(operation.name, operation.name)
        if not any(each.server or each.tool in FILE_TOOLS for each in skill.candidates(wanted)):
            message = f"{name}.{operation.name}: the skill {skill.name} allows no tool {wanted[:80]!r}"
            allowed = ", ".join(map(str, skill.head.allowed)) or "none"
            hint = (
                f"add it to allowed-tools in {skill.file} (there are: {allowed}), or say in {BINDINGS} under "
                f"{name} which of them it is: operations: {{{operation.name}: SERVER/TOOL}}"
            )
            findings.add("skill-operation", _skill_mark(binding), message, hint)


def _skill_mark(binding: ToolBinding) -> Mark:
    at = binding.mark("skill")
    return at if at != binding.at else binding.mark("server")


def _check_server(
    name: str, binding: ToolBinding, server: str, around: BindingContext, findings: Findings
) -> None:
    if server not in around.servers:
        at, hint = binding.mark("server"), server_hint(server, around.servers)
        findings.add("server-unknown", at, not_configured(name, server), hint)


def _check_triggers(package: Package, bindings: Bindings, findings: Findings) -> None:
    known = [trigger.name for trigger in package.triggers]
    for name, binding in bindings.triggers.items():
        if name not in known:
            message = f"the package has no trigger {name!r}"
            findings.add("binding-trigger-unknown", binding.at, message, did_you_mean(name, known))


def _check_state(expert: Expert, package: Package, around: BindingContext, findings: Findings) -> None:
    for item in package.state:
        file = around.workspace.root / item.path
        if not is_there(file):
            message = f"{item.path} is not in {around.workspace.root} yet"
            findings.add(
                "state-missing", item.at, message, f"it is made by: colleague expert enable {expert.name}"
            )
        elif not os.access(file, os.R_OK | os.W_OK):
            findings.add("state-closed", item.at, f"{file} may not be read and written", OWNER_HINT)


def _check_learnings(package: Package, around: BindingContext, findings: Findings) -> None:
    folder = PackageFolder(around.workspace.root, findings)
    learnings = around.workspace.learnings
    if is_there(learnings) and not os.access(learnings, os.R_OK | os.W_OK | os.X_OK):
        findings.add(
            "state-closed", Mark("learnings"), f"{learnings} may not be read and written", OWNER_HINT
        )
        return
    for file in sorted(learnings.glob("*.md")):
        check_learnings_scope(folder, f"learnings/{file.name}", package)
