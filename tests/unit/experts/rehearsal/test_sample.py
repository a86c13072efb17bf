"""Made-up values fit the schema they are made for, whatever it says."""

from __future__ import annotations

import socket
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.rehearsal.sample import sample

TREE = {"$ref": "#/$defs/node", "$defs": {}}
NODE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
}
CHAIN = {
    "type": "object",
    "required": ["next"],
    "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
}
SCHEMAS: dict[str, Any] = {
    "anything": {},
    "true": True,
    "enum": {"enum": ["b", "a"]},
    "enum of objects": {"enum": [{"a": 1}]},
    "const": {"const": {"a": [1]}},
    "null": {"type": "null"},
    "type list": {"type": ["null", "integer"]},
    "short text": {"type": "string", "maxLength": 3},
    "long text": {"type": "string", "minLength": 200},
    "no text": {"type": "string", "maxLength": 0},
    "bounds": {"type": "integer", "minimum": 17, "maximum": 18},
    "negative": {"type": "number", "maximum": -4},
    "exclusive": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
    "exclusive integer": {"type": "integer", "exclusiveMinimum": 5},
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 50},
    "cents": {"type": "number", "multipleOf": 0.25, "exclusiveMinimum": 3},
    "beyond counting": {"type": "integer", "minimum": 10**30},
    "boolean": {"type": "boolean"},
    "only false": {"type": "boolean", "not": {"const": True}},
    "array": {"type": "array", "items": {"type": "string"}},
    "many": {"type": "array", "items": {"type": "integer"}, "minItems": 12, "uniqueItems": True},
    "unique objects": {
        "type": "array",
        "minItems": 3,
        "uniqueItems": True,
        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
    "unique of a choice": {
        "type": "array",
        "minItems": 2,
        "uniqueItems": True,
        "items": {"enum": ["a", "b"]},
    },
    "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "minItems": 2},
    "contains": {"type": "array", "contains": {"const": 5}},
    "empty array": {"type": "array", "maxItems": 0},
    "closed object": {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    },
    "required elsewhere": {"type": "object", "required": ["b"], "additionalProperties": {"type": "integer"}},
    "least properties": {"type": "object", "minProperties": 3, "properties": {"a": {}}},
    "anyOf": {"anyOf": [{"type": "string", "pattern": "^x{5000}$"}, {"type": "integer"}]},
    "oneOf": {"oneOf": [{"type": "integer"}, {"type": "number", "multipleOf": 0.5, "minimum": 2}]},
    "required by anyOf": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a", "b"]}],
        "additionalProperties": False,
    },
    "allOf": {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"minimum": 3}}}]},
    "shared property": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]},
            {"properties": {"a": {"maximum": 4}}},
        ]
    },
    "reference": {"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"type": "integer", "minimum": 9}}},
    "reference to a property": {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"enum": ["x"]}, "b": {"$ref": "#/properties/a"}},
    },
    "tree": TREE | {"$defs": {"node": NODE}},
    "chain": CHAIN,
    "dependent": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
        "dependentRequired": {"a": ["b"]},
    },
    "default": {"type": "integer", "default": 12},
    "wrong default": {"type": "integer", "default": "twelve"},
    "example": {"type": "string", "examples": ["Ada"], "maxLength": 3},
    "draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
    },
    **{
        f"format {name}": {"type": "string", "format": name}
        for name in (
            "date",
            "date-time",
            "time",
            "duration",
            "email",
            "uri",
            "uuid",
            "ipv4",
            "ipv6",
            "hostname",
        )
    },
    **{
        f"pattern {text}": {"type": "string", "pattern": text}
        for text in (
            r"^T-[0-9]{4}$",
            r"^[A-Z]{2}\d{6}$",
            r"^(open|closed)$",
            r"^\+?[1-9]\d{7,14}$",
            r"^[^aA\s]+$",
            r"(.)\1x",
            r"^(?:[a-f0-9]{2}:){5}[a-f0-9]{2}$",
            r"^\S+@\S+\.\S+$",
            r"\W\D$",
        )
    },
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_sample_fits(schema: Any) -> None:
    value = sample(schema, "thing")
    jsonschema_rs.validator_for(schema, validate_formats=True, offline=True).validate(value)


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        ("subject", {"type": "string"}, "[rehearsal: subject]"),
        ("due", {"type": "string", "description": "Date it must be done by, YYYY-MM-DD"}, "2026-01-15"),
        ("close_date", {"type": "string"}, "2026-01-15"),
        ("window_start", {"description": "ISO 8601 with offset"}, "2026-01-15T09:00:00+00:00"),
        ("window_end", {"description": "ISO 8601 with offset"}, "2026-01-16T17:00:00+00:00"),
        ("sentAt", {"type": "string"}, "2026-01-15T09:00:00+00:00"),
        ("email", {"type": "string"}, "rehearsal@example.com"),
        ("to", {"type": "string", "description": "One address"}, "rehearsal@example.com"),
        ("attendees", {"type": "array", "description": "Addresses of colleagues"}, ["rehearsal@example.com"]),
        (
            "evidence",
            {"type": "string", "description": "The sentence from the email"},
            "[rehearsal: evidence (the sentence from the email)]",
        ),
        ("contact_id", {"type": "string"}, "rehearsal-contact_id"),
        ("dealId", {"type": "string"}, "rehearsal-dealId"),
        ("website", {"type": "string"}, "https://example.com/rehearsal"),
        ("missing", {"type": "string", "description": "The fact to ask for; empty unless one is"}, ""),
        ("contact", {"type": "object", "description": "The record; empty when unknown"}, {}),
        ("status", {"type": "string", "description": "open, closed or all; open when left out"}, "open"),
        ("author", {"type": "string", "description": "customer or desk"}, "customer"),
        (
            "note",
            {"type": "string", "description": "Plain text or Markdown"},
            "[rehearsal: note (plain text or Markdown)]",
        ),
        ("closes", {"type": "boolean"}, True),
        ("amount", {"type": "number"}, 1),
        ("duration_minutes", {"type": "number", "exclusiveMinimum": 0}, 30),
        ("stage", {"enum": ["discovery", "proposal"]}, "discovery"),
        ("categories", {"type": "array"}, ["[rehearsal: category]"]),
        ("order", {"type": "object", "properties": {"id": {"type": "string"}}}, {"id": "rehearsal-id"}),
    ],
)
def test_a_sample_says_what_it_stands_for(name: str, schema: Any, expected: Any) -> None:
    assert sample(schema, name) == expected


def nested_choices(depth: int) -> dict[str, Any]:
    """Nothing fits, and there are three ways to find that out at each of three places on every level."""
    levels: dict[str, Any] = {"0": {"type": "string", "pattern": "^never$", "maxLength": 1}}
    for level in range(1, depth):
        choice = {"anyOf": [{"$ref": f"#/$defs/{level - 1}"}] * 3}
        levels[str(level)] = {
            "type": "object",
            "required": list("abc"),
            "properties": dict.fromkeys("abc", choice),
        }
    return {"$ref": f"#/$defs/{depth - 1}", "$defs": levels}


def wide(count: int) -> dict[str, Any]:
    words = {f"word_{number}": {"type": "string", "maxLength": 0, "minLength": 1} for number in range(count)}
    return {"type": "object", "properties": words, "required": list(words)}


HOSTILE: dict[str, Any] = {
    "never": False,
    "not a schema": [1, 2],
    "broken type": {"type": "frob"},
    "broken words": {"type": "object", "properties": 3, "required": "name", "anyOf": 4, "enum": "x"},
    "broken bounds": {"type": "number", "minimum": "3", "multipleOf": 0, "maximum": None},
    "broken pattern": {"type": "string", "pattern": "(["},
    "endless pattern": {"type": "string", "pattern": "^(a{1000}){1000}$"},
    "huge text": {"type": "string", "minLength": 10**12},
    "huge array": {"type": "array", "minItems": 10**12, "uniqueItems": True, "items": {"type": "integer"}},
    "huge object": {"type": "object", "minProperties": 10**12},
    "huge numbers": {"type": "number", "minimum": 10**400, "multipleOf": 1e-300},
    "no number": {"type": "number", "minimum": float("nan"), "maximum": float("inf")},
    "empty enum": {"enum": []},
    "nowhere": {"$ref": "#/$defs/nothing"},
    "elsewhere": {"$ref": "https://example.com/schema.json"},
    "itself": {"$ref": "#"},
    "itself in all": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "must hold itself": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    "many of itself": {
        "type": "object",
        "properties": {name: {"type": "array", "items": {"$ref": "#"}, "minItems": 2} for name in "abcdef"},
    },
    "choices without end": nested_choices(9),
    "a megabyte": wide(20_000),
    "half a character": {
        "type": "object",
        "required": ["\ud800"],
        "properties": {"\ud800": {"enum": ["\udfff"]}},
    },
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_schema_costs_little(schema: Any) -> None:
    started = time.process_time()
    sample(schema, "thing")
    assert time.process_time() - started < 20


def test_a_schema_makes_nobody_fetch_anything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        sample({"type": "object", "required": ["a"], "properties": {"a": {"$ref": address}}})
        with pytest.raises(TimeoutError):
            server.accept()


NAMES = st.sampled_from(["id", "name", "email", "due_date", "sent_at", "stage", "Kopf/Zeile", "漢字"])
BASE = st.one_of(
    st.builds(
        lambda least, more: {"type": "integer", "minimum": least, "maximum": least + more},
        *[st.integers(-50, 50), st.integers(0, 9)],
    ),
    st.builds(
        lambda step, least: {"type": "number", "multipleOf": step, "exclusiveMinimum": least},
        st.sampled_from([1, 3, 0.5, 0.25]),
        st.integers(-9, 9),
    ),
    st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
        st.integers(0, 60),
        st.integers(0, 9),
    ),
    st.lists(st.text(max_size=5) | st.integers() | st.booleans() | st.none(), min_size=1, max_size=4).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {},
            True,
            {"type": ["string", "null"]},
            {"$ref": "#/$defs/shared"},
        ]
    ),
)


def grown(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(NAMES, part, max_size=3)
    objects = properties.flatmap(
        lambda found: st.builds(
            lambda required, closed: {"type": "object", "properties": found, "required": required, **closed},
            st.lists(st.sampled_from(sorted(found)), unique=True) if found else st.just([]),
            st.sampled_from([{}, {"additionalProperties": False}]),
        )
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least}, part, st.integers(0, 3)
    )
    choices = st.builds(
        lambda word, parts: {word: parts},
        st.sampled_from(["anyOf", "allOf"]),
        st.lists(part, min_size=1, max_size=1) | st.just([{}]),
    )
    return objects | arrays | choices


@given(
    schema=st.recursive(BASE, grown, max_leaves=8), shared=BASE.filter(lambda each: "$ref" not in str(each))
)
@settings(max_examples=150)
def test_any_schema_that_can_be_met_is_met(schema: Any, shared: Any) -> None:
    document = {"$defs": {"shared": shared}, "allOf": [schema]}
    jsonschema_rs.validator_for(document).validate(sample(document, "thing"))
