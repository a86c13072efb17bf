"""Inputs and outputs of functions and processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.nodes import Mapping, Scalar, plain
from colleague.packages.parsed import Parsed
from colleague.packages.shape import Schema, read_shape


@dataclass(frozen=True)
class Parameter(Parsed):
    """One input or output, with its JSON Schema."""

    name: str
    schema: Schema
    description: str = ""
    required: bool = True


def read_parameters(fields: Fields, name: str) -> tuple[Parameter, ...]:
    return tuple(_parameters(fields, name))


def object_schema(parameters: Iterable[Parameter]) -> Schema:
    """One JSON Schema for all of them together."""
    listed = list(parameters)
    schema: dict[str, Any] = {"type": "object", "properties": {p.name: p.schema for p in listed}}
    required = [p.name for p in listed if p.required]
    return schema | {"required": required} if required else schema


def _parameters(fields: Fields, name: str) -> Iterable[Parameter]:
    for item in fields.items(name):
        if isinstance(item, Scalar) and item.value is not None:
            yield Parameter(name=item.text, schema={}, at=item.mark, node=item)
            continue
        part = Fields(item, f"an entry of {name}", fields.findings, item.mark)
        parameter = part.required_text("name")
        part.ignore("type", "enum", "items", "properties", "required", "default", "format", "examples")
        description = part.text("description")
        part.finish()
        if part.node is not None and parameter:
            schema, required = _schema(part.node, fields.findings), _is_required(part.node)
            yield Parameter(
                name=parameter,
                schema=schema,
                description=description,
                required=required,
                at=item.mark,
                node=item,
            )


def _schema(node: Mapping, findings: Findings) -> Schema:
    shape = {key: value for key, value in node.entries.items() if key != "name"}
    shape.setdefault("type", Scalar("any", "any", node.mark))
    return read_shape(Mapping(shape, node.marks, node.mark, node.size), findings)


def _is_required(node: Mapping) -> bool:
    """`required: false` makes a parameter optional; so does a default."""
    return plain(node.entries.get("required")) is not False and "default" not in node.entries
