"""A tool file: an abstract interface and its operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.nodes import Mapping, Node, NodeError, Scalar, Sequence, parse
from colleague.packages.parsed import Parsed
from colleague.packages.part_name import part_name
from colleague.packages.policy import TIERS, Tier
from colleague.packages.shape import Schema, read_shape

_NO_EFFECTS = ("none", "no", "false")


@dataclass(frozen=True)
class Operation(Parsed):
    """`documented_tier` is what the tool file says; only the policy decides.

    `reads`: the tool file says that it changes nothing (`reads: true`, or `side_effects: none`)."""

    name: str
    description: str
    input: Schema
    output: Schema
    documented_tier: Tier | None = None
    reads: bool = False


@dataclass(frozen=True)
class ToolDeclaration(Parsed):
    """An abstract tool with its operations."""

    path: str
    name: str
    description: str
    operations: tuple[Operation, ...] = ()

    def operation(self, name: str) -> Operation | None:
        return next((operation for operation in self.operations if operation.name == name), None)


def read_tool(folder: PackageFolder, path: str, at: Mark) -> ToolDeclaration | None:
    text = folder.read(path, at)
    if text is None:
        return None
    try:
        node = parse(text, path)
    except NodeError as error:
        folder.findings.add(error.code, error.at, error.message, error.hint)
        return None
    fields = Fields(node, "a tool", folder.findings, Mark(path))
    tool = ToolDeclaration(
        at=Mark(path),
        node=fields.node,
        path=path,
        name=part_name(fields),
        description=fields.text("description"),
        operations=_read_operations(fields),
    )
    fields.finish()
    return tool if tool.name else None


def _read_operations(fields: Fields) -> tuple[Operation, ...]:
    found: dict[str, Operation] = {}
    for item in _operation_nodes(fields):
        operation = _read_operation(item, fields.findings)
        if operation is None:
            continue
        if operation.name in found:
            message = (
                f"operation {operation.name!r} stands twice, first on line {found[operation.name].at.line}"
            )
            fields.findings.add("name-duplicate", operation.mark("name"), message, "rename one of them")
        found.setdefault(operation.name, operation)
    return tuple(found.values())


def _operation_nodes(fields: Fields) -> tuple[Node, ...]:
    """A list of operations or, as some write it, a mapping of name to operation."""
    node = fields.node.entries.get("operations") if fields.node else None
    if not isinstance(node, Mapping):
        return fields.items("operations")
    fields.ignore("operations")
    return tuple(_with_name(name, value, node.marks[name]) for name, value in node.entries.items())


def _with_name(name: str, node: Node, at: Mark) -> Node:
    entries, marks = (node.entries, node.marks) if isinstance(node, Mapping) else ({}, {})
    named = {"name": Scalar(name, name, at)} | entries
    return Mapping(named, {"name": at} | marks, at, node.size + 1)


def _read_operation(node: Node, findings: Findings) -> Operation | None:
    fields = Fields(node, "an operation", findings, node.mark)
    if fields.node is None:
        return None
    name = fields.required_text("name")
    tier = fields.choice("approval", TIERS, "") if fields.has("approval") else ""
    operation = Operation(
        at=node.mark,
        node=node,
        name=name,
        description=fields.text("description"),
        input=_read_object(fields, "input"),
        output=_read_object(fields, "output"),
        documented_tier=cast(Tier, tier) if tier else None,
        reads=_read_reads(fields),
    )
    fields.ignore("side_effects", "examples")
    fields.finish()
    return operation if name else None


def _read_reads(fields: Fields) -> bool:
    if fields.has("reads"):
        return fields.flag("reads", False)
    effects = fields.node.entries.get("side_effects") if fields.node else None
    return isinstance(effects, Scalar) and effects.text.strip().lower() in _NO_EFFECTS


def _read_object(fields: Fields, name: str) -> Schema:
    fields.ignore(name)
    node = fields.node.entries.get(name) if fields.node else None
    if isinstance(node, Sequence):
        return _from_list(fields, name)
    return read_shape(node, fields.findings) or {"type": "object"}


def _from_list(fields: Fields, name: str) -> Schema:
    from colleague.packages.parameter import object_schema, read_parameters

    return object_schema(read_parameters(fields, name))
