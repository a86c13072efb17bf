"""A JSON Schema taken apart: references followed, `allOf` merged, and values judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard
from urllib.parse import unquote

Schema = dict[str, Any]

_HERE = "urn:colleague:schema"
_MOST_PARTS = 64
_IN_PARTS = ("$ref", "allOf")
_UNIONS = ("anyOf", "oneOf")


@dataclass(frozen=True)
class Folded:
    """One schema in place of references and `allOf`.

    `whole` is False when not everything was followed; `possible` is False when nothing fits it."""

    part: Schema
    whole: bool = True
    possible: bool = True


def fold(schema: object, root: object, *, drop_null: bool = False) -> Folded:
    """Follows references within `root` and merges `allOf`. With `drop_null`, "this or null" is this."""
    merged: Schema = {}
    whole = possible = True
    parts: list[object] = [schema]
    for _ in range(_MOST_PARTS):
        if not parts:
            break
        part = parts.pop(0)
        possible = possible and part is not False
        if isinstance(part, Mapping):
            own, inner, found = _taken_apart(part, root, drop_null)
            merged, parts, whole = merge(merged, own), [*inner, *parts], whole and found
    return Folded(merged, whole and not parts, possible)


def _taken_apart(part: Mapping[str, Any], root: object, drop_null: bool) -> tuple[Schema, list[object], bool]:
    """What a schema says itself, the schemas it stands for, and whether all of those were found."""
    inner: list[object] = []
    taken = {*_IN_PARTS}
    reference, every = part.get("$ref"), part.get("allOf")
    target = lookup(root, reference) if isinstance(reference, str) else None
    if target is not None:
        inner.append(target)
    if isinstance(every, list):
        inner += every
    for union in _UNIONS if drop_null else ():
        branches = [each for each in _list(part.get(union)) if each != {"type": "null"}]
        if len(branches) == 1:
            inner += branches
            taken.add(union)
    found = "$ref" not in part or target is not None
    return {key: value for key, value in part.items() if key not in taken}, inner, found


def lookup(root: object, reference: str) -> object | None:
    """What a reference such as #/$defs/Contact leads to; None when that is not in this schema."""
    start, *names = unquote(reference).split("/")
    if start != "#":
        return None
    found: object = root
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, Mapping) and key in found:
            found = found[key]
        else:
            return None
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


class SchemaDocument:
    """A schema with everything its parts refer to. Nothing is ever fetched from elsewhere."""

    def __init__(self, root: Any) -> None:
        self.root: Schema = root if isinstance(root, dict) else {}

    def plain(self, schema: Any) -> Schema | None:
        """The schema without references and `allOf`; None when nothing fits it."""
        folded = fold(schema, self.root)
        return folded.part if folded.possible else None

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether a value is valid, its format included. A schema that is itself broken takes everything."""
        validator = self._validator(schema, formats=True)
        try:
            return validator is None or bool(validator.is_valid(value))
        except (ValueError, RecursionError):
            return False

    def problems(self, value: Any) -> list[str]:
        """Where a value does not fit the whole document, and why."""
        validator = self._validator(self.root, formats=False)
        return [_describe_error(error) for error in validator.iter_errors(value)] if validator else []

    def _validator(self, schema: Any, *, formats: bool) -> Any:
        import jsonschema_rs

        judge = {"allOf": [_with_full_references(schema)]} | self._draft
        try:
            return jsonschema_rs.validator_for(
                judge, registry=self._registry, validate_formats=formats, offline=True
            )
        except (ValueError, RecursionError):
            return None

    @cached_property
    def _draft(self) -> Schema:
        draft = self.root.get("$schema")
        return {"$schema": draft} if isinstance(draft, str) else {}

    @cached_property
    def _registry(self) -> Any:
        """What references lead to; None when there are none, since a large one costs with every value."""
        import jsonschema_rs

        if "'$ref'" not in str(self.root):
            return None
        try:
            return jsonschema_rs.Registry([(_HERE, self.root)])
        except (ValueError, RecursionError):
            return None


def merge(first: Schema, second: Schema) -> Schema:
    """What fits both, as far as single keywords can say it; otherwise the first one's word counts."""
    merged = second | first
    for keyword in first.keys() & second.keys():
        combine = _COMBINED.get(keyword)
        if combine is not None:
            merged[keyword] = combine(first[keyword], second[keyword])
    return merged


def _describe_error(error: Any) -> str:
    where = "/".join(map(str, error.instance_path))
    return f"{where}: {error.message}" if where else str(error.message)


def _with_full_references(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_full_references(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {key: _full(key, value) for key, value in part.items()}


def _full(key: str, value: Any) -> Any:
    if key == "$ref" and isinstance(value, str) and value.startswith("#"):
        return f"{_HERE}{value}"
    return _with_full_references(value)


def _union(first: Any, second: Any) -> Any:
    if not (isinstance(first, list) and isinstance(second, list)):
        return first
    return list(dict.fromkeys(each for each in (*first, *second) if isinstance(each, str)))


def _closed(first: Any, second: Any) -> Any:
    return False if second is False else first


def _common(first: Any, second: Any) -> Any:
    lists = isinstance(first, list) and isinstance(second, list)
    return [each for each in first if each in second] if lists else first


def _common_types(first: Any, second: Any) -> Any:
    here, there = (each if isinstance(each, list) else [each] for each in (first, second))
    both = [each for each in here if each in there or (each == "integer" and "number" in there)]
    return both or (["integer"] if "integer" in there and "number" in here else first)


def _both(first: Any, second: Any) -> Any:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return first
    shared = {name: {"allOf": [first[name], second[name]]} for name in first.keys() & second.keys()}
    return second | first | shared


def _numeric(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def chosen(first: Any, second: Any) -> Any:
        return choose(first, second) if is_number(first) and is_number(second) else first

    return chosen


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_COMBINED: Mapping[str, Callable[[Any, Any], Any]] = {
    "required": _union,
    "enum": _common,
    "type": _common_types,
    "properties": _both,
    "additionalProperties": _closed,
    "unevaluatedProperties": _closed,
    **dict.fromkeys(_LEAST, _numeric(max)),
    **dict.fromkeys(_MOST, _numeric(min)),
}
