"""Values that fit a JSON Schema: known ones where there are some, made-up ones elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from colleague.experts.json_schema import Schema, SchemaDocument, is_number, merge
from colleague.experts.rehearsal.naming import singular
from colleague.experts.rehearsal.number import numbers
from colleague.experts.rehearsal.sample_text import described, is_copied, may_be_empty, texts

_DEEP, _DEEPEST = 3, 12
_MOST_TRIES = 3_000
_MOST_ITEMS = 50
_NONE: Any = object()


@dataclass(frozen=True)
class WantedValue:
    """A value that is asked for: its name, and its schema without references."""

    name: str
    schema: Schema

    @property
    def description(self) -> str:
        return described(self.schema)


class Lookup(Protocol):
    """Where known values come from."""

    def candidates(self, want: WantedValue) -> Iterator[Any]:
        """Values for it, the best first; they need not fit."""
        ...


class NothingKnown:
    """For values that are all made up."""

    def candidates(self, want: WantedValue) -> Iterator[Any]:  # noqa: ARG002 - the protocol's
        return iter(())


def sample(schema: Any, name: str = "") -> Any:
    """A made-up value that fits the schema."""
    return Sampler(SchemaDocument(schema), NothingKnown()).value(name, schema)


class Sampler:
    """Makes the values of one document. It tries so often and no more, whatever the schema."""

    def __init__(self, document: SchemaDocument, known: Lookup) -> None:
        self._document = document
        self._known = known
        self._left = _MOST_TRIES
        self._place = 1

    def known(self, name: str, schema: Any) -> Any:
        """The first known value that fits; raises LookupError when there is none."""
        for value in self._known_ones(name, schema):
            return value
        raise LookupError(name)

    def value(self, name: str, schema: Any, depth: int = 0, taken: Sequence[Any] = ()) -> Any:
        """The first candidate that fits and is not taken; when none does, the first made-up one."""
        first = _NONE
        for value in self._known_ones(name, schema) if depth <= _DEEP else ():
            if value not in taken:
                return value
        for value in self._samples(name, self._document.plain(schema), depth):
            self._left -= 1
            if value not in taken and self._document.fits(schema, value):
                return value
            first = value if first is _NONE else first
            if self._left <= 0:
                break
        return None if first is _NONE else first

    def _known_ones(self, name: str, schema: Any) -> Iterator[Any]:
        plain = self._document.plain(schema)
        if plain is None or not name:
            return
        for value in self._known.candidates(WantedValue(name, plain)):
            self._left -= 1
            if self._left <= 0:
                return
            if self._document.fits(schema, value):
                yield value

    def _samples(self, name: str, schema: Schema | None, depth: int) -> Iterator[Any]:
        if schema is None or self._left <= 0 or depth > _DEEPEST:
            return
        if "const" in schema or isinstance(schema.get("enum"), list):
            yield from [schema["const"]] if "const" in schema else schema["enum"]
            return
        yield from _suggested(schema)
        branches = self._branches(schema, depth)
        for branch in branches:
            yield from self._samples(name, branch, depth)
        if not branches:
            for kind in _kinds(schema):
                yield from self._of_kind(kind, name, schema, depth)

    def _branches(self, schema: Schema, depth: int) -> list[Schema | None]:
        """One schema for each alternative; deep down the ones that lead no deeper come first."""
        listed = [part for word in ("anyOf", "oneOf") for part in _listed(schema.get(word))]
        base = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        if depth > _DEEP:
            listed.sort(key=_leads_deeper)
        parts = [self._document.plain(part) for part in listed]
        return [None if part is None else merge(base, part) for part in parts]

    def _of_kind(self, kind: str, name: str, schema: Schema, depth: int) -> Iterable[Any]:
        if kind == "object":
            return self._objects(schema, depth)
        if kind == "array":
            return self._arrays(name, schema, depth)
        if kind in ("number", "integer"):
            return numbers(name, schema, whole=kind == "integer", first=self._place)
        if kind == "string":
            return texts(name if self._place == 1 else f"{name} {self._place}", schema)
        return (True, False) if kind == "boolean" else (None,)

    def _objects(self, schema: Schema, depth: int) -> Iterator[dict[str, Any]]:
        properties = _mapped(schema.get("properties"))
        required = [name for name in _listed(schema.get("required")) if isinstance(name, str)]
        if may_be_empty(schema) and not required:
            yield {}
        everything = list(dict.fromkeys([*required, *properties]))
        if not required and depth <= _DEEP:
            yield self._object(everything, schema, depth)
        yield self._object(required, schema, depth)
        if depth <= _DEEP:
            yield self._object(everything, schema, depth)

    def _object(self, names: Sequence[str], schema: Schema, depth: int) -> dict[str, Any]:
        properties, others = _mapped(schema.get("properties")), schema.get("additionalProperties", {})
        least = min(_count(schema.get("minProperties")), _MOST_ITEMS)
        spare = [*properties, *(f"rehearsal_{number}" for number in range(1, least + 1))]
        enough = max(least, len(names))
        chosen = list(dict.fromkeys([*names, *spare] if least else names))[:enough]
        return {name: self.value(name, properties.get(name, others), depth + 1) for name in chosen}

    def _arrays(self, name: str, schema: Schema, depth: int) -> Iterator[list[Any]]:
        least = min(_count(schema.get("minItems")), _MOST_ITEMS)
        if (may_be_empty(schema) or is_copied(name)) and not least:
            yield []
        counts = (least, max(1, least)) if depth > _DEEP else (max(1, least), least)
        for count in counts:
            yield self._array(name, schema, depth, count)

    def _array(self, name: str, schema: Schema, depth: int, count: int) -> list[Any]:
        items: list[Any] = []
        before = self._place
        for place in range(count):
            self._place = before + place
            taken = items if schema.get("uniqueItems") is True else ()
            items.append(self.value(singular(name), _item(schema, place), depth + 1, taken))
        self._place = before
        return items


def _suggested(schema: Schema) -> Iterator[Any]:
    """What the schema itself proposes."""
    if "default" in schema:
        yield schema["default"]
    yield from _listed(schema.get("examples"))
    if may_be_empty(schema) and schema.get("type") == "string":
        yield ""


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return sorted((each for each in kind if isinstance(each, str)), key=lambda each: each == "null")
    if isinstance(kind, str):
        return [kind]
    told = {"properties": "object", "required": "object", "items": "array", "minimum": "number"}
    return [*dict.fromkeys(told[word] for word in told if word in schema), "string", "object", "array"]


def _item(schema: Schema, place: int) -> Any:
    """The schema of one item, with what is said about the whole list."""
    first, others = schema.get("prefixItems"), schema.get("items", schema.get("contains", {}))
    if isinstance(others, list):
        first, others = others, schema.get("additionalItems", {})
    item = first[place] if isinstance(first, list) and place < len(first) else others
    said = described(schema)
    return {"description": said} | item if said and isinstance(item, dict) else item


def _leads_deeper(schema: Any) -> bool:
    return isinstance(schema, dict) and any(
        word in schema for word in ("$ref", "allOf", "anyOf", "oneOf", "properties", "items")
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return math.ceil(value) if is_number(value) and 0 <= value < math.inf else 0
