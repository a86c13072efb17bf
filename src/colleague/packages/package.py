"""A whole package, read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from colleague.packages.checklist import Vocabulary
from colleague.packages.digest import digest_of
from colleague.packages.finding import Findings
from colleague.packages.folder import FolderEntry, PackageFolder, normal_path
from colleague.packages.function import Function, read_function
from colleague.packages.knowledge import Knowledge, read_knowledge
from colleague.packages.manifest import Listed, Manifest, read_manifest
from colleague.packages.mark import Mark
from colleague.packages.policy import TIERS, Tier
from colleague.packages.process import Inherited, Process, read_process
from colleague.packages.state_template import StateTemplate, read_state_template
from colleague.packages.tool_declaration import ToolDeclaration, read_tool
from colleague.packages.trigger import Trigger


@dataclass(frozen=True)
class Persona:
    """One persona file."""

    path: str
    text: str


@dataclass(frozen=True)
class Package:
    """Everything an author wrote, typed, with defaults and inheritance resolved."""

    root: Path
    digest: str
    manifest: Manifest
    orchestrator: str
    persona: tuple[Persona, ...]
    functions: tuple[Function, ...]
    processes: tuple[Process, ...]
    tools: tuple[ToolDeclaration, ...]
    knowledge: tuple[Knowledge, ...]
    state: tuple[StateTemplate, ...]
    entries: tuple[FolderEntry, ...] = field(repr=False)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def triggers(self) -> tuple[Trigger, ...]:
        return self.manifest.triggers

    @property
    def operations(self) -> tuple[str, ...]:
        """Every declared operation, as `tool.operation`."""
        return tuple(f"{tool.name}.{operation.name}" for tool in self.tools for operation in tool.operations)

    @property
    def public_knowledge(self) -> tuple[Knowledge, ...]:
        """The knowledge that may stand in an index: all but the private."""
        return tuple(item for item in self.knowledge if not item.private)

    def tier(self, operation: str) -> Tier:
        return self.manifest.policy.tier(operation)

    def by_tier(self) -> dict[Tier, list[str]]:
        """Every operation that is declared or has an override, grouped by its tier."""
        known = dict.fromkeys([*self.operations, *self.manifest.policy.approval.overrides])
        return {tier: [name for name in known if self.tier(name) == tier] for tier in TIERS}

    def process(self, name: str) -> Process | None:
        return _first(self.processes, name)

    def function(self, name: str) -> Function | None:
        return _first(self.functions, name)

    def tool(self, name: str) -> ToolDeclaration | None:
        return _first(self.tools, name)

    def trigger(self, name: str) -> Trigger | None:
        return _first(self.triggers, name)


@dataclass(frozen=True)
class Reading:
    """What came of reading a folder. `package` is None when the manifest is beyond use."""

    package: Package | None
    findings: Findings


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    def mark(self, *path: str | int) -> Mark: ...


N = TypeVar("N", bound=_Named)
T = TypeVar("T")


def read_package(root: Path, *, installed: bool = False) -> Reading:
    """Reads and validates the package in `root`. Never raises for what an author can get wrong.

    `installed` says that the folder is a home's own copy, where bindings.yaml is the user's."""
    from colleague.packages.validate import check_package

    findings = Findings()
    if not root.is_dir():
        findings.add("package-not-found", Mark(str(root)), f"there is no folder {root}", "check the path")
        return Reading(None, findings)
    folder = PackageFolder(root, findings)
    manifest = read_manifest(folder)
    if manifest is None:
        return Reading(None, findings)
    package = _assemble(folder, manifest)
    check_package(package, findings, installed=installed)
    return Reading(package, findings)


def _assemble(folder: PackageFolder, manifest: Manifest) -> Package:
    lists = manifest.components.lists
    tools = _distinct(_read_all(folder, lists["tools"], read_tool), folder.findings, "tool")
    functions = _distinct(_read_all(folder, lists["functions"], read_function), folder.findings, "function")
    vocabulary = _vocabulary(manifest, tools, functions)
    inherited = Inherited(manifest.execution, manifest.delivery, vocabulary)

    def read_one(folder: PackageFolder, path: str, at: Mark) -> Process | None:
        return read_process(folder, path, at, inherited)

    entries = folder.entries()
    return Package(
        root=folder.root,
        digest=digest_of(folder.root, entries),
        manifest=manifest,
        orchestrator=_read_orchestrator(folder, manifest),
        persona=_read_persona(folder, lists["persona"]),
        functions=functions,
        processes=_distinct(_read_all(folder, lists["processes"], read_one), folder.findings, "process"),
        tools=tools,
        knowledge=_distinct(
            _read_all(folder, lists["knowledge"], read_knowledge), folder.findings, "knowledge"
        ),
        state=_distinct(_read_all(folder, lists["state"], read_state_template), folder.findings, "state"),
        entries=tuple(entries),
    )


def _vocabulary(
    manifest: Manifest, tools: Iterable[ToolDeclaration], functions: Iterable[Function]
) -> Vocabulary:
    operations: dict[str, frozenset[str]] = {name: frozenset() for name in manifest.requires_tools}
    operations |= {tool.name: frozenset(each.name for each in tool.operations) for tool in tools}
    return Vocabulary(operations, frozenset(function.name for function in functions))


def _read_orchestrator(folder: PackageFolder, manifest: Manifest) -> str:
    named = manifest.components.orchestrator
    return (folder.read(*named) or "") if named else ""


def _read_persona(folder: PackageFolder, listed: Listed) -> tuple[Persona, ...]:
    texts = [(path, folder.read(path, at)) for path, at in listed]
    return tuple(Persona(normal_path(path) or path, text) for path, text in texts if text is not None)


def _read_all(
    folder: PackageFolder, listed: Listed, read: Callable[[PackageFolder, str, Mark], T | None]
) -> list[T]:
    found = [read(folder, normal_path(path) or path, at) for path, at in listed]
    return [item for item in found if item is not None]


def _distinct(items: Iterable[N], findings: Findings, kind: str) -> tuple[N, ...]:
    """The first of each name; a second one is reported."""
    found: dict[str, N] = {}
    for item in items:
        if item.name in found:
            first = found[item.name].mark("name")
            message = f"{kind} {item.name[:60]!r} has the name of the one at {first}"
            findings.add("name-duplicate", item.mark("name"), message, "rename one of them")
        found.setdefault(item.name, item)
    return tuple(found.values())


def _first(items: Iterable[N], name: str) -> N | None:
    return next((item for item in items if item.name == name), None)
