"""Schemas of tools in a form that every provider takes.

The library does most of it. Left are: a root that is no plain object (refused by all), old drafts (refused by
Anthropic), lists without a description of their items (refused by OpenAI and Google), and keywords that
Google does not know. What is loosened here is made up for later: arguments are checked against the tool's
own schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from colleague.agent.models.resolved import Api

_CHOICES = ("oneOf", "anyOf")
_NOT_AT_ROOT = ("oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "then", "else")
_DROPPED = ("$schema", "$comment", "$id", "id")
_IN_MAPS = ("properties", "$defs", "patternProperties")
_IN_LISTS = ("oneOf", "anyOf", "allOf", "prefixItems")
_INSIDE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_GOOGLE = frozenset(
    (
        *("$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "const", "default"),
        *("items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength"),
        *("anyOf", "oneOf", "properties", "additionalProperties", "required", "nullable", "pattern"),
    )
)
_DEPTH = 60


def provider_schema(api: Api, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments as the provider takes it; `schema` stays as it is."""
    return _plain_root(_Walk(api).form(schema, 0))


class _Walk:
    """Rewrites a schema and all that is inside it."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def form(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        made = {key: self._inside(key, value, depth) for key, value in _modern(schema).items()}
        if self._api != "anthropic-messages" and _is_list(made) and "items" not in made:
            variants = made.pop("prefixItems", ())
            made["items"] = {"anyOf": list(variants)} if variants else {}
        free = depth and made.get("type") == "object" and not made.get("properties")
        if free and self._api.startswith("openai"):  # else the library takes it for one that must stay empty
            made.setdefault("additionalProperties", True)
        return _for_google(made) if self._api == "google" else made

    def _inside(self, key: str, value: Any, depth: int) -> Any:
        if depth > _DEPTH:
            return value
        if key in _IN_MAPS and isinstance(value, Mapping):
            return {name: self._sub(each, depth) for name, each in value.items()}
        if key in _IN_LISTS and isinstance(value, list):
            return [self._sub(each, depth) for each in value]
        return self._sub(value, depth) if key in _INSIDE else value

    def _sub(self, value: Any, depth: int) -> Any:
        return self.form(value, depth + 1) if isinstance(value, Mapping) else value


def _modern(schema: Mapping[str, Any]) -> dict[str, Any]:
    """In the words of today's draft."""
    made = {key: value for key, value in schema.items() if key not in _DROPPED or not isinstance(value, str)}
    if isinstance(definitions := made.pop("definitions", None), Mapping):
        made["$defs"] = {**definitions, **made.get("$defs", {})}
    if isinstance(reference := made.get("$ref"), str):
        made["$ref"] = reference.replace("#/definitions/", "#/$defs/")
    if isinstance(made.get("items"), list):
        made["prefixItems"] = made.pop("items")
    if isinstance(made.get("required"), bool):
        del made["required"]
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool):
            counts = made.pop(exclusive)
            if counts and limit in made:
                made[exclusive] = made.pop(limit)
    return made


def _is_list(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == "array" or (isinstance(kinds, list) and "array" in kinds)


def _for_google(schema: dict[str, Any]) -> dict[str, Any]:
    for part in schema.pop("allOf", ()):
        if isinstance(part, Mapping):
            schema = _joined(schema, part)
    if isinstance(values := schema.get("enum"), list) and None in values:
        schema["enum"] = [each for each in values if each is not None]
    return {key: value for key, value in schema.items() if key in _GOOGLE}


def _joined(schema: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Both of them have to hold; where they name the same, the first counts."""
    made = {**part, **schema}
    for key in ("properties", "$defs"):
        if key in schema or key in part:
            made[key] = {**part.get(key, {}), **schema.get(key, {})}
    if required := [*schema.get("required", ()), *part.get("required", ())]:
        made["required"] = list(dict.fromkeys(required))
    return made


def _plain_root(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with properties: variants at the root become one object that has the properties of all."""
    root = {key: value for key, value in schema.items() if key not in _NOT_AT_ROOT}
    for part in schema.get("allOf", ()):
        if isinstance(part, Mapping):
            root = _joined(root, _plain_root(dict(part)))
    for key in _CHOICES:
        variants = [_plain_root(dict(each)) for each in schema.get(key, ()) if isinstance(each, Mapping)]
        if variants:
            root = _joined(root, _any_of(variants))
    return {**root, "type": "object", "properties": root.get("properties") or {}}


def _any_of(variants: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What any of the variants has; required is only what all of them require."""
    properties: dict[str, list[Any]] = {}
    for each in variants:
        for name, value in each["properties"].items():
            if value not in properties.setdefault(name, []):
                properties[name].append(value)
    common = [name for name in properties if all(name in each.get("required", ()) for each in variants)]
    forms = {name: found[0] if len(found) == 1 else {"anyOf": found} for name, found in properties.items()}
    return {"properties": forms} | ({"required": common} if common else {})
