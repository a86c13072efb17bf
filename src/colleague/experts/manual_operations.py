"""Which tools of MCP servers some expert's policy holds as manual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.experts.bindings import ToolBinding, read_bindings
from colleague.experts.expert import Expert, listed_experts
from colleague.experts.runs.schema_compare import server_tool_name
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder, normal_path
from colleague.packages.manifest import Manifest, read_manifest
from colleague.packages.policy import Policy
from colleague.packages.tool_declaration import read_tool


@dataclass(frozen=True)
class BoundPolicy:
    """One bound tool of one expert. `declared` are its operations; None when no tool file says them."""

    expert: str
    tool: str
    binding: ToolBinding
    policy: Policy
    declared: tuple[str, ...] | None

    def operations(self, server: str, server_tool: str) -> list[str]:
        """The names under which the expert calls this tool of this server."""
        if self.binding.type != "mcp" or self.binding.server != server:
            return []
        if self.declared is not None:
            return [each for each in self.declared if server_tool_name(self.binding, each) == server_tool]
        mapped = [name for name, target in self.binding.operations.items() if target == server_tool]
        return [server_tool, *mapped]

    def is_manual(self, server: str, server_tool: str) -> bool:
        names = self.operations(server, server_tool)
        return any(self.policy.tier(f"{self.tool}.{name}") == "manual" for name in names)

    def server_tools(self) -> Iterator[str]:
        """The server's tools that are known without asking it."""
        named = [*self.binding.operations, *self._overridden()] if self.declared is None else self.declared
        return (server_tool_name(self.binding, name) for name in named)

    def _overridden(self) -> Iterator[str]:
        for operation in self.policy.approval.overrides:
            tool, _, name = operation.partition(".")
            if tool == self.tool and name:
                yield name


@dataclass(frozen=True)
class ManualOperations:
    """All bound tools of all experts in a home."""

    bound: tuple[BoundPolicy, ...] = ()

    def reason(self, server: str, tool: str) -> str:
        """`manual in radiant-sales-expert`; empty when no expert holds this tool as manual."""
        experts = dict.fromkeys(each.expert for each in self.bound if each.is_manual(server, tool))
        return f"manual in {', '.join(experts)}" if experts else ""

    def known_tools(self, server: str) -> list[str]:
        """Tools of a server that experts name, by name; nothing is started to find out."""
        mine = [each for each in self.bound if each.binding.type == "mcp" and each.binding.server == server]
        return sorted({name for each in mine for name in each.server_tools()})


def manual_operations(home: Home) -> ManualOperations:
    """As the packages and bindings are now. An expert that cannot be read counts as it was installed."""
    return ManualOperations(tuple(each for expert in listed_experts(home) for each in _bound(home, expert)))


def _bound(home: Home, expert: Expert) -> Iterator[BoundPolicy]:
    root, manifest = _readable(home, expert)
    if manifest is None:
        return
    declared = _declared(root, manifest)
    for name, binding in read_bindings(expert.bindings_file, Findings()).tools.items():
        yield BoundPolicy(expert.name, name, binding, manifest.policy, declared.get(name))


def _readable(home: Home, expert: Expert) -> tuple[Path, Manifest | None]:
    """Its package, or the snapshot of the version that was installed when somebody has broken that."""
    for root in (expert.root, home.snapshots / (expert.record.digest or "none")):
        manifest = read_manifest(PackageFolder(root, Findings())) if root.is_dir() else None
        if manifest is not None:
            return root, manifest
    return expert.root, None


def _declared(root: Path, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    folder = PackageFolder(root, Findings())
    listed = manifest.components.lists["tools"]
    found = [read_tool(folder, normal_path(path) or path, at) for path, at in listed]
    tools = [tool for tool in found if tool is not None and tool.operations]
    return {tool.name: tuple(each.name for each in tool.operations) for tool in tools}
