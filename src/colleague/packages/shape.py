"""The simple types of tool files and parameters, as JSON Schema."""

from __future__ import annotations

from typing import Any

from colleague.packages.fields import describe
from colleague.packages.finding import Findings
from colleague.packages.nodes import Mapping, Node, Scalar, Sequence, plain
from colleague.suggest import did_you_mean

Schema = dict[str, Any]

_TYPES = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "object": "object",
    "array": "array",
    # what authors also write
    "text": "string",
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "map": "object",
    "date": "string",
    "datetime": "string",
    "any": "",
}
_LONGEST_TYPE = 40
_TEXTS = ("description", "title", "format", "pattern")
_VALUES = ("enum", "default", "examples", "minimum", "maximum")


def read_shape(node: Node | None, findings: Findings) -> Schema:
    """A JSON Schema from a type name, `{type: object, properties: ...}`, or just `{email: string}`."""
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return {}
    if isinstance(node, Scalar):
        return _named_type(node, findings)
    if isinstance(node, Sequence):
        return _list_of(node, findings)
    if isinstance(node.entries.get("type"), Scalar | Sequence) or "properties" in node.entries:
        return _typed_shape(node, findings)
    return _object(node, findings)


def type_schema(name: str) -> Schema | None:
    """The schema of a type name such as `string` or `string[]`; None when it is no type."""
    word = name.strip().lower()
    if len(word) > _LONGEST_TYPE:
        return None
    if word.endswith("[]"):
        inner = type_schema(word[:-2])
        return None if inner is None else {"type": "array", "items": inner}
    known = _TYPES.get(word)
    if known is None:
        return None
    return {"type": known} if known else {}


def _named_type(node: Scalar, findings: Findings) -> Schema:
    schema = type_schema(node.text)
    if schema is None:
        message = f"{node.text[:60]!r} is no type"
        hint = did_you_mean(node.text, _TYPES) or "use string, number, integer, boolean, object or array"
        findings.add("type-unknown", node.mark, message, hint)
        return {}
    return schema


def _list_of(node: Sequence, findings: Findings) -> Schema:
    """`[string]` is a list of strings; `type: [string, null]` comes here too, as a union."""
    inner = [read_shape(item, findings) for item in node.items]
    return {"type": "array", "items": inner[0]} if inner else {"type": "array"}


def _typed_shape(node: Mapping, findings: Findings) -> Schema:
    schema = _type_of(node, findings)
    for word in _TEXTS:
        if word in node.entries:
            schema[word] = _as_typed(node.entries[word])
    value_of = _as_typed if schema.get("type") == "string" else plain
    for word in _VALUES:
        if word in node.entries:
            schema[word] = value_of(node.entries[word])
    if "properties" in node.entries:
        schema |= _object(node.entries["properties"], findings)
    if "items" in node.entries:
        schema["items"] = read_shape(node.entries["items"], findings)
    required = plain(node.entries.get("required"))
    if isinstance(required, list):
        schema["required"] = [str(name) for name in required]
    return schema


def _type_of(node: Mapping, findings: Findings) -> Schema:
    kind = node.entries.get("type")
    if isinstance(kind, Sequence):
        return _union(kind)
    return read_shape(kind, findings) if isinstance(kind, Scalar) else {"type": "object"}


def _as_typed(node: Node) -> Any:
    """A text as the author typed it: `yes` and `1.10` are no boolean and no number here."""
    if isinstance(node, Sequence):
        return [_as_typed(item) for item in node.items]
    return node.text if isinstance(node, Scalar) and node.value is not None else plain(node)


def _union(kinds: Sequence) -> Schema:
    names = [item.text.lower() if isinstance(item, Scalar) else "" for item in kinds.items]
    known = [_TYPES.get(name, name if name == "null" else "") for name in names]
    return {"type": [name for name in known if name]} if all(known) and known else {}


def _object(node: Node, findings: Findings) -> Schema:
    if not isinstance(node, Mapping):
        message = f"properties must be a mapping of names to types, found {describe(node)}"
        findings.add("field-type", node.mark, message)
        return {"type": "object"}
    properties = {name: read_shape(value, findings) for name, value in node.entries.items()}
    return {"type": "object", "properties": properties}
