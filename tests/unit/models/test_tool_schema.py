"""Schemas that providers refuse, and what they are sent instead."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from colleague.agent.models.resolved import APIS, Api
from colleague.agent.models.tool_schema import provider_schema

VARIANTS: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"id": {"type": "string"}, "all": {"type": "boolean"}},
            "required": ["id"],
        },
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    ]
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "schema", [VARIANTS, {}, {"type": "object"}, {"allOf": [VARIANTS]}, {"$ref": "#/$defs/x"}]
)
def test_the_root_is_a_plain_object_for_all(api: Api, schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    made = provider_schema(api, schema)
    assert made["type"] == "object"
    assert "properties" in made
    assert not {"oneOf", "anyOf", "allOf"} & made.keys()
    assert schema == before


def test_variants_become_one_object() -> None:
    made = provider_schema("anthropic-messages", VARIANTS)
    assert made["required"] == ["id"]
    assert made["properties"]["id"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert made["properties"]["all"] == {"type": "boolean"}


def inside(api: Api, schema: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = provider_schema(api, {"type": "object", "properties": {"x": schema}})[
        "properties"
    ]["x"]
    return made


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "google"])
def test_lists_say_what_is_in_them(api: Api) -> None:
    assert inside(api, {"type": "array"}) == {"type": "array", "items": {}}
    pair = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
    assert inside(api, pair)["items"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def test_old_drafts_are_said_in_the_words_of_today() -> None:
    old = {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}
    assert inside("anthropic-messages", old) == {"type": "number", "exclusiveMinimum": 0, "maximum": 5}
    pair = {"type": "array", "items": [{"type": "string"}]}
    assert inside("anthropic-messages", pair) == {"type": "array", "prefixItems": [{"type": "string"}]}
    made = provider_schema(
        "anthropic-messages",
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"P": {"type": "string"}}}
        | {"type": "object", "properties": {"p": {"$ref": "#/definitions/P"}}},
    )
    assert made == {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/P"}},
        "$defs": {"P": {"type": "string"}},
    }


def test_google_gets_only_what_it_knows() -> None:
    schema = {
        "allOf": [{"type": "string"}, {"minLength": 2}],
        "not": {"const": "x"},
        "enum": ["a", None],
        "patternProperties": {"^a": {}},
    }
    assert inside("google", schema) == {"type": "string", "minLength": 2, "enum": ["a"]}


def test_an_object_that_takes_anything_still_does() -> None:
    assert inside("openai-completions", {"type": "object"})["additionalProperties"] is True


def test_a_property_may_be_called_like_a_keyword() -> None:
    properties = {
        "id": {"type": "string"},
        "enum": {"type": "string"},
        "items": {"type": "array", "items": {}},
    }
    for api in APIS:
        made = provider_schema(api, {"type": "object", "properties": properties})
        assert made["properties"].keys() == properties.keys()


def test_one_that_never_ends_is_left_alone() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    assert provider_schema("google", {"type": "object", "properties": {"x": deep}})["type"] == "object"
