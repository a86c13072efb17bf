"""`rehearsal.yaml`: what the author of a package lets a rehearsal say in the place of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.nodes import Node, NodeError, parse, plain
from colleague.packages.package import Package
from colleague.packages.parsed import Parsed

FILE = "rehearsal.yaml"
_UNKNOWN = "rehearsal-field-unknown"


@dataclass(frozen=True)
class OperationAnswer:
    """How an operation is called. `skip` says why it is not; `why` is the agent's reason for the call."""

    arguments: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    skip: str = ""


@dataclass(frozen=True)
class StateLine:
    """A line for a state file, at the end of the part under a heading."""

    line: str
    under: str = ""


@dataclass(frozen=True)
class RehearsalCase(Parsed):
    """One situation. `when`: texts that results must contain; `holds`: values that they must have, or one of
    a list."""

    process: str = ""
    when: dict[str, str] = field(default_factory=dict)
    holds: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, dict[str, Any]] = field(default_factory=dict)
    operations: dict[str, OperationAnswer] = field(default_factory=dict)
    state: dict[str, StateLine] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    narrative: str = ""


@dataclass(frozen=True)
class RehearsalFile(Parsed):
    """`results` stand in for what an operation returns where no demo server answers."""

    results: dict[str, Any] = field(default_factory=dict)
    cases: tuple[RehearsalCase, ...] = ()


NO_FILE = RehearsalFile(at=Mark(FILE))


def has_rehearsal_file(package: Package) -> bool:
    """Also when it is a folder, which cannot be read."""
    return any(entry.path.partition("/")[0] == FILE for entry in package.entries)


def read_rehearsal_file(folder: PackageFolder) -> RehearsalFile:
    fields = Fields(_tree(folder), FILE, folder.findings, Mark(FILE))
    file = RehearsalFile(
        at=Mark(FILE),
        node=fields.node,
        results=_values(fields, "results"),
        cases=tuple(_read_case(each, folder.findings) for each in fields.items("cases")),
    )
    fields.finish(_UNKNOWN)
    return file


def _tree(folder: PackageFolder) -> Node | None:
    text = folder.read(FILE, Mark(FILE), missing="file-unreadable")
    try:
        return None if text is None else parse(text, FILE)
    except NodeError as error:
        folder.findings.add(error.code, error.at, error.message, error.hint)
        return None


def _read_case(node: Node, findings: Findings) -> RehearsalCase:
    fields = Fields(node, "a case", findings, node.mark)
    when, functions = fields.child("when"), fields.child("functions")
    case = RehearsalCase(
        at=node.mark,
        node=fields.node,
        process=fields.text("process"),
        when={name: when.required_text(name) for name in _names(when)},
        holds=_values(fields, "holds"),
        functions={name: _values(functions, name) for name in _names(functions)},
        operations={name: _read_answer(each) for name, each in _children(fields, "operations")},
        state={name: _read_line(each) for name, each in _children(fields, "state")},
        outputs=_values(fields, "outputs"),
        narrative=fields.text("narrative"),
    )
    fields.finish(_UNKNOWN)
    return case


def _read_answer(fields: Fields) -> OperationAnswer:
    answer = OperationAnswer(_values(fields, "arguments"), fields.text("why"), fields.text("skip"))
    fields.finish(_UNKNOWN)
    return answer


def _read_line(fields: Fields) -> StateLine:
    fields.required_text("line")
    line = StateLine(fields.text("line"), fields.text("under"))
    fields.finish(_UNKNOWN)
    return line


def _names(fields: Fields) -> tuple[str, ...]:
    return tuple(fields.node.entries) if fields.node else ()


def _children(fields: Fields, name: str) -> list[tuple[str, Fields]]:
    parent = fields.child(name)
    return [(each, parent.child(each)) for each in _names(parent)]


def _values(fields: Fields, name: str) -> dict[str, Any]:
    return plain(fields.child(name).node) or {}
