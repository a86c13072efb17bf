"""Phase 2 of validation: whether the bound servers answer, and have what the package needs."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.experts.runs.schema_compare import compare, server_tool_name
from colleague.mcp.log import log_file
from colleague.mcp.probe import Probed, probe
from colleague.packages.names import BINDINGS
from colleague.suggest import close_names

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.experts.bindings import Bindings, ToolBinding
    from colleague.experts.bound_skills import BoundSkill, BoundSkills
    from colleague.mcp.mcp_tool import McpTool
    from colleague.mcp.servers import Servers
    from colleague.packages.finding import Findings
    from colleague.packages.package import Package
    from colleague.packages.tool_declaration import Operation

_LISTING_SECONDS = 30.0
_SETTLING_SECONDS = 0.25
_LOOK_SECONDS = 0.05
_MOST_DIFFERENCES = 10
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_READING = frozenset(
    {
        *("check", "count", "describe", "fetch", "find", "get", "list", "load"),
        *("lookup", "query", "read", "search", "show", "view"),
    }
)


NO_SKILLS_BOUND: BoundSkills = {}


def bound_servers(bindings: Bindings, skills: BoundSkills = NO_SKILLS_BOUND) -> tuple[str, ...]:
    """The MCP servers that tools are bound to, themselves or by a skill, each once."""
    direct = [each.server for each in bindings.tools.values() if each.type == "mcp"]
    by_skill = [server for each in skills.values() for server in each.skill.servers]
    return tuple(dict.fromkeys([*direct, *by_skill]))


def time_limit(settings: Settings, names: Iterable[str]) -> float:
    """Seconds to wait: what the settings give the slowest of them to start, and a while to list its tools."""
    starts = (settings.mcp.servers[name].connection_timeout_ms / 1000 for name in names)
    return max(starts, default=0.0) + _LISTING_SECONDS


async def probe_bindings(
    package: Package,
    bindings: Bindings,
    servers: Servers,
    findings: Findings,
    *,
    name: str = "",
    seconds: float = 60.0,
    tell: Callable[[Probed], None] = lambda _: None,
    skills: BoundSkills = NO_SKILLS_BOUND,
    settling: float = _SETTLING_SECONDS,
) -> list[Probed]:
    """Asks every bound server for its tools, all at once, and compares them with the package's operations.

    `name` is the expert's, where it is not its package's. `tell` hears of each server as it is done, which is
    after `seconds` at the latest. A server that is not configured is left to `check_bindings`. `skills` are
    those that tools are bound to. A server that ends within `settling` seconds after its answer is of no use.
    """
    known = {status.name for status in await servers.status()}
    asked = [server for server in bound_servers(bindings, skills) if server in known]
    answers = await asyncio.gather(*(_probe(servers, server, seconds, tell) for server in asked))
    probed = await _settled(servers, answers, settling)
    for each in probed:
        users = {
            tool: bound
            for tool, bound in bindings.tools.items()
            if _uses(bound, each.name) or (tool in skills and each.name in skills[tool].skill.servers)
        }
        if not each.ok:
            at = next(iter(users.values())).mark("server")
            findings.add("server-unreachable", at, f"{', '.join(users)}: {each.error}", each.hint)
            continue
        tools = {served.name: served for served in each.tools}
        for tool, binding in users.items():
            if tool not in skills:
                _check_operations(_Bound(name or package.name, tool, binding, tools), package, findings)
    for tool, bound_skill in skills.items():
        _check_skill_operations(tool, bound_skill, bindings.tools[tool], package, probed, findings)
    return probed


def _check_skill_operations(
    name: str,
    bound: BoundSkill,
    binding: ToolBinding,
    package: Package,
    probed: Iterable[Probed],
    findings: Findings,
) -> None:
    """Each operation has a tool that its server really has. What no server answers for is said already, and
    so is what the skill does not allow."""
    from colleague.experts.runs.skill_tools import tool_for
    from colleague.skills.skill import FILE_TOOLS

    served = {each.name: {tool.name: tool for tool in each.tools} for each in probed if each.ok}
    if not served.keys() >= set(bound.skill.servers):
        return
    declared = package.tool(name)
    for operation in declared.operations if declared else ():
        wanted = binding.operations.get(operation.name, operation.name)
        allowed = [each for each in bound.skill.candidates(wanted) if each.server]
        if allowed and tool_for(bound.skill, binding, operation.name, served, FILE_TOOLS) is None:
            where = ", ".join(dict.fromkeys(each.server for each in allowed))
            message = (
                f"{name}.{operation.name}: the skill {bound.name} means a tool {wanted[:80]!r} of {where}"
            )
            hint = f"see its tools with: colleague mcp probe {where.split(',')[0]}"
            findings.add("skill-operation", binding.at, f"{message}, which has none", hint)


def _uses(binding: ToolBinding, server: str) -> bool:
    return binding.type == "mcp" and binding.server == server


async def _probe(servers: Servers, name: str, seconds: float, tell: Callable[[Probed], None]) -> Probed:
    from pydantic import ValidationError

    try:
        async with asyncio.timeout(seconds):
            [probed] = await probe(servers, [name], lambda _: None)
    except TimeoutError:
        probed = _failed(name, f"did not answer within {seconds:g} s")
    except ValidationError as error:
        probed = _failed(name, f"did not list its tools: {error.error_count()} faults in its answer")
    tell(probed)
    return probed


def _failed(name: str, what: str) -> Probed:
    hint = f"try it alone: colleague mcp probe {name}"
    return Probed(name, "", 0.0, error=f"MCP server {name} {what}", hint=hint)


async def _settled(servers: Servers, probed: list[Probed], seconds: float) -> list[Probed]:
    """A server may answer once and end; it is given the time to."""
    answered = {each.name for each in probed if each.ok}
    deadline = time.monotonic() + (seconds if answered else 0)
    while answered <= (up := await _up(servers)) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_SECONDS)
    return [each if not each.ok or each.name in up else _ended(each) for each in probed]


async def _up(servers: Servers) -> set[str]:
    return {status.name for status in await servers.status() if status.state == "up"}


def _ended(probed: Probed) -> Probed:
    log = log_file(Path("logs"), probed.name)
    what = f"MCP server {probed.name} ended by itself after it had listed its tools"
    return replace(probed, error=what, hint=f"read {log} in the home to see why")


@dataclass(frozen=True)
class _Bound:
    """A tool of the package and the server that answered for it; `served` are its tools by name."""

    expert: str
    tool: str
    binding: ToolBinding
    served: Mapping[str, McpTool]

    def command(self, operation: str, name: str) -> str:
        """What to type to map an operation to another tool."""
        bind = ["colleague", "expert", "bind", self.expert, self.tool, self.binding.server]
        return shlex.join([*bind, "--operation", f"{operation}={name}"])


def _check_operations(bound: _Bound, package: Package, findings: Findings) -> None:
    tool = package.tool(bound.tool)
    for operation in tool.operations if tool else ():
        served = bound.served.get(server_tool_name(bound.binding, operation.name))
        if served is None:
            _report_missing(bound, operation, findings)
        else:
            _report_differences(bound, operation, served, findings)
            _report_repeatable(bound, operation, served, findings)
            _report_reads(bound, operation, served, findings)
    _report_unhinted(bound, tool.operations if tool else (), findings)


def _report_missing(bound: _Bound, operation: Operation, findings: Findings) -> None:
    binding = bound.binding
    wanted = server_tool_name(binding, operation.name)
    at = binding.mark("operations", operation.name) if wanted != operation.name else binding.mark("server")
    has_none = f"MCP server {binding.server} has no tool {wanted[:80]!r} that may be used"
    if near := _nearest(wanted, operation.name, bound.served):
        hint = bound.command(operation.name, near)
    else:
        command = bound.command(operation.name, "MCP_TOOL")
        hint = f"find one with colleague mcp probe {binding.server}, then: {command}"
    findings.add("operation-missing", at, f"{bound.tool}.{operation.name}: {has_none}", hint)


def _report_differences(bound: _Bound, operation: Operation, served: McpTool, findings: Findings) -> None:
    messages = [each.message for each in compare(bound.tool, operation, served)]
    if len(messages) > _MOST_DIFFERENCES:
        more = len(messages) - _MOST_DIFFERENCES
        where = f"{served.server}/{served.name}"
        last = f"{bound.tool}.{operation.name}: {more} more differences from {where}"
        messages = [*messages[:_MOST_DIFFERENCES], last]
    command = bound.command(operation.name, "MCP_TOOL")
    for message in messages:
        hint = f"correct {operation.at.file}, or choose a tool that fits: {command}"
        findings.add("operation-shape", operation.at, message, hint)


def _report_repeatable(bound: _Bound, operation: Operation, served: McpTool, findings: Findings) -> None:
    """An operation with the name of a question is believed: many servers say nothing about their tools."""
    marked = operation.name in bound.binding.repeatable
    if marked and served.destructive and not served.idempotent and not _reads(operation.name):
        name = f"{bound.tool}.{operation.name}"
        message = f"{name} is marked repeatable, but {served.server}/{served.name} does not say that it is"
        hint = "take it out of repeatable, unless sending it twice does no harm"
        findings.add("operation-repeatable", bound.binding.mark("repeatable"), message, hint)


def _report_reads(bound: _Bound, operation: Operation, served: McpTool, findings: Findings) -> None:
    if operation.name in bound.binding.reads and served.says_changes:
        name = f"{bound.tool}.{operation.name}"
        where = f"{served.server}/{served.name}"
        message = f"{name} is marked as reading, but {where} says that it changes something"
        hint = "take it out of reads, unless you know better than the server"
        findings.add("operation-reads", bound.binding.mark("reads"), message, hint)


def _report_unhinted(bound: _Bound, operations: Iterable[Operation], findings: Findings) -> None:
    """Operations with the name of a question, of which nobody says that they only read."""
    settled = {*bound.binding.reads, *bound.binding.repeatable}
    names = [each.name for each in operations if _reads(each.name) and not each.reads]
    unsaid = [name for name in names if name not in settled and _is_unhinted(bound, name)]
    if unsaid:
        what = ", ".join(f"{bound.tool}.{name}" for name in unsaid[:_MOST_DIFFERENCES])
        message = f"MCP server {bound.binding.server} does not say whether {what} only reads"
        line = f"reads: [{', '.join(unsaid)}]"
        hint = f"if they only read, write in {BINDINGS} under {bound.tool}: {line}"
        findings.add("operation-unhinted", bound.binding.mark("server"), message, hint)


def _is_unhinted(bound: _Bound, operation: str) -> bool:
    served = bound.served.get(server_tool_name(bound.binding, operation))
    return served is not None and not served.hinted and not served.idempotent


def _nearest(wanted: str, operation: str, served: Mapping[str, McpTool]) -> str:
    """The tool most likely meant, and never one that changes things for an operation that only reads."""
    names = [name for name in served if _PLAIN_NAME.fullmatch(name)]
    if _reads(operation):
        names = [name for name in names if served[name].read_only or _READING & set(_words(name))]
    for word in (wanted, operation):
        if close := close_names(word, names):
            return close[0]
    words = set(_words(operation))
    return min((name for name in names if words and words <= set(_words(name))), key=len, default="")


def _reads(name: str) -> bool:
    return not _READING.isdisjoint(_words(name)[:1])


def _words(name: str) -> list[str]:
    """`getContact`, `get_contact` and `get-contact` are all: get, contact."""
    return [word.lower() for word in _WORD.findall(name)]
