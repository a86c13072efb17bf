"""Every setting as it counts, with the place it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from colleague.config.agents import Agents
from colleague.config.file import Keys, Node, dotted
from colleague.config.section import Section
from colleague.config.settings import Settings

DEFAULT = "default"


@dataclass(frozen=True)
class EffectiveValue:
    """One value. `source` is file, line and column, or `default`."""

    key: str
    value: Any
    source: str


def effective_values(settings: Settings) -> Iterator[EffectiveValue]:
    """Texts that may be secrets are masked, as everywhere."""
    for path, value in _leaves(settings.model_dump(mode="json", by_alias=True), ()):
        nodes = (_written(settings.tree, each) for each in (*_in_main_entry(settings.agents, path), path))
        found = next((node for node in nodes if node is not None), None)
        yield EffectiveValue(dotted(path), value, str(found.place) if found else DEFAULT)


def _leaves(value: Any, path: Keys) -> Iterator[tuple[Keys, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def _in_main_entry(agents: Agents, path: Keys) -> Iterator[Keys]:
    """Where the main agent's own value of a default would be written."""
    if path[:2] != ("agents", "defaults"):
        return
    for index, entry in enumerate(agents.listed):
        if entry is agents.main:
            yield ("agents", "list", index, *path[2:])
    for name, entry in agents.entries.items():
        if entry is agents.main:
            yield ("agents", "entries", name, *path[2:])


def _written(tree: Node | None, path: Keys) -> Node | None:
    """The value at the path, if a file has it. A text may stand for an object: a model's name for
    `{primary}`, but not for its fallbacks."""
    node = tree
    for number, key in enumerate(path):
        inside = node.value if node is not None else None
        if isinstance(inside, dict) and isinstance(key, str):
            node = next(
                (inside[name] for name in (key, *_other_names().get(key, ())) if name in inside), None
            )
        elif isinstance(inside, list) and isinstance(key, int) and key < len(inside):
            node = inside[key]
        else:
            return node if isinstance(inside, str) and path[number:] == ("primary",) else None
    return node


@cache
def _other_names() -> dict[str, list[str]]:
    """By the name of a key, the other names that it may be written with."""
    found: dict[str, list[str]] = {}
    sections = [Section]
    while sections:
        model = sections.pop()
        sections += model.__subclasses__()
        for other, name in model.renamed.items():
            found.setdefault(name, []).append(other)
    return found
