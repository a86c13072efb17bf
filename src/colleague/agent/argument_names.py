"""Names of arguments as models misspell them, mapped to those that a tool has.

Models are trained on other tools: they write `file_path` where this one takes `path`, or camel case where it
takes underscores. A name is mapped only where the tool does not know it and the right one is not given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_GROUPS: tuple[tuple[str, ...], ...] = (
    ("path", "file_path", "filepath", "file", "filename", "file_name", "target_file", "absolute_path"),
    ("text", "content", "contents", "file_text", "new_content", "body"),
    ("old", "old_string", "old_text", "old_str", "search", "find"),
    ("new", "new_string", "new_text", "new_str", "replacement", "replace"),
    ("edits", "replacements", "changes"),
    ("pattern", "regex", "query", "glob"),
    ("command", "cmd", "shell_command", "script"),
    ("message", "msg", "prompt"),
    ("limit", "max_results", "count", "head_limit"),
    ("offset", "start_line", "line", "from_line"),
    ("input", "patch", "diff"),
    ("url", "uri", "link", "address"),
)
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def with_known_names(schema: Mapping[str, Any], arguments: Any) -> Any:
    """The arguments with names that the schema has, where it is clear which is meant; also inside of lists
    and objects that it describes."""
    properties = schema.get("properties")
    if isinstance(arguments, list) and isinstance(items := schema.get("items"), Mapping):
        return [with_known_names(items, each) for each in arguments]
    if not isinstance(arguments, dict) or not isinstance(properties, Mapping):
        return arguments
    renamed = _renamed(properties, arguments)
    return {
        name: with_known_names(properties[name], value)
        if isinstance(properties.get(name), Mapping)
        else value
        for name, value in renamed.items()
    }


def _renamed(properties: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    taken = {name for name in arguments if name in properties}
    made: dict[str, Any] = {}
    for name, value in arguments.items():
        meant = name if name in properties else _meant(name, properties, taken)
        taken.add(meant)
        made[meant] = value
    return made


def _meant(name: str, properties: Mapping[str, Any], taken: set[str]) -> str:
    """The one free name that it can stand for; itself when there is none, or more than one."""
    plain = _plain(name)
    free = [each for each in properties if each not in taken]
    same = [each for each in free if _plain(each) == plain]
    group = next((each for each in _GROUPS if plain in map(_plain, each)), ())
    alike = same or [each for each in free if each in group]
    return alike[0] if len(alike) == 1 else name


def _plain(name: str) -> str:
    """Without the difference between camel case, dashes and underscores."""
    return _CAMEL.sub(r"_\1", name).lower().replace("-", "_").replace("_", "")


def without_nulls(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Without nulls for what may be left out: schemas in a provider's strict form name everything as
    required, and null is how a model then leaves something out."""
    properties = schema.get("properties")
    if not isinstance(arguments, dict) or not isinstance(properties, Mapping):
        return arguments
    required = schema.get("required") or ()
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in required or name not in properties or _takes_null(properties[name])
    }


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return kinds is None and "enum" not in schema
