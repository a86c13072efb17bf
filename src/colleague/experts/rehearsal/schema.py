"""A JSON Schema taken apart: references followed, `allOf` merged, and values judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeGuard
from urllib.parse import unquote

Schema = dict[str, Any]

_HERE = "urn:colleague:schema"
_MOST_PARTS = 40
_IN_PARTS = ("$ref", "allOf")


class Document:
    """A schema with everything its parts refer to. Nothing is ever fetched from elsewhere."""

    def __init__(self, root: Any) -> None:
        self.root: Schema = root if isinstance(root, dict) else {}

    def plain(self, schema: Any) -> Schema | None:
        """The schema without references and `allOf`; None when nothing fits it."""
        merged: Schema = {}
        parts = [schema]
        for _ in range(_MOST_PARTS):
            if not parts:
                break
            part = parts.pop(0)
            if part is False:
                return None
            if isinstance(part, dict):
                merged = merge(merged, {key: value for key, value in part.items() if key not in _IN_PARTS})
                parts += self._parts(part)
        return merged

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
        return [_told(error) for error in validator.iter_errors(value)] if validator else []

    def _validator(self, schema: Any, *, formats: bool) -> Any:
        import jsonschema_rs

        judge = {"allOf": [_with_full_references(schema)]} | self._draft
        try:
            return jsonschema_rs.validator_for(
                judge, registry=self._registry, validate_formats=formats, offline=True
            )
        except (ValueError, RecursionError):
            return None

    def _parts(self, part: Schema) -> list[Any]:
        reference, every = part.get("$ref"), part.get("allOf")
        found = [self._at(reference)] if isinstance(reference, str) else []
        return [*found, *every] if isinstance(every, list) else found

    def _at(self, reference: str) -> Any:
        """What a reference into this document means; anything fits where it leads nowhere."""
        if not reference.startswith("#"):
            return {}
        found: Any = self.root
        for name in unquote(reference[1:]).split("/")[1:]:
            key = name.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                return {}
        return found

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


def _told(error: Any) -> str:
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
    **dict.fromkeys(_LEAST, _numeric(max)),
    **dict.fromkeys(_MOST, _numeric(min)),
}
