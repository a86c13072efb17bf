"""The arguments of a call, checked as far as its schema says, with an error a model can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colleague.agent.tool import ToolSpec
from colleague.errors import ColleagueError


class ArgumentError(ColleagueError):
    """A call has an argument that makes no sense."""


class Arguments:
    """The values by name. `where` begins every error."""

    def __init__(self, where: str, schema: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        self._where = where
        self._schema = schema
        self._values = values
        known = schema["properties"]
        if unknown := [name for name in values if name not in known]:
            raise self._error(f"there is no argument {unknown[0]!r}; it takes {', '.join(known)}")

    @classmethod
    def of(cls, spec: ToolSpec, values: Mapping[str, Any]) -> Arguments:
        return cls(spec.name, spec.parameters, values)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._values.get(name, default)
        if value is None:
            raise self._error(f"{name} is missing")
        if not isinstance(value, str):
            raise self._error(f"{name} must be text")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self._error(f"{name} has half a character at position {error.start}") from error
        return value

    def number(self, name: str, default: int, *, least: int = 1, most: int | None = None) -> int:
        value = self._values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self._error(f"{name} must be a whole number")
        try:
            number = int(value) if float(value) == int(value) else None
        except (ValueError, OverflowError):
            number = None
        if number is None or number < least:
            raise self._error(f"{name} must be a whole number of at least {least}")
        return number if most is None else min(number, most)

    def flag(self, name: str) -> bool:
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise self._error(f"{name} must be true or false")
        return value

    def each(self, name: str) -> list[Arguments]:
        """The items of a list of objects."""
        value = self._values.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise self._error(f"{name} must be a list of at least one object")
        schema = self._schema["properties"][name]["items"]
        return [
            Arguments(f"{self._where}, {name} {number}", schema, item) for number, item in enumerate(value, 1)
        ]

    def _error(self, what: str) -> ArgumentError:
        return ArgumentError(f"{self._where}: {what}.")


def parameters(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema of an object."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def number(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


def flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}
