"""Which of the keys that are set have an effect: those that have none yet, and restrictions that nothing
enforces, with which nothing starts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from colleague.config.channel_access import READ, is_channel_on
from colleague.config.file import Key, Keys, Node, Place, dotted
from colleague.config.section import Section, Status, StatusMark, mark_of
from colleague.config.settings import Settings
from colleague.errors import ConfigError

_MAX_SHOWN = 20
_PLUGIN = "enable a plugin that has it (colleague plugin list), or set its enabled to false"
_LATER = "do not rely on it; it may stay in the file"


class KeyStatus(NamedTuple):
    """A key that is set and has no effect yet, or that restricts without being enforced."""

    key: str
    status: Status
    reason: str
    cure: str
    node: Node | None

    @property
    def place(self) -> Place | None:
        """None for settings that were not read from a file."""
        if self.node is None:
            return None
        named = self.node.path and isinstance(self.node.path[-1], str)
        return self.node.key_place if named else self.node.place

    @property
    def where(self) -> str:
        return f"{self.place}: " if self.place else ""

    def __str__(self) -> str:
        return f"{self.where}{self.key} {self.reason}"


def without_effect(settings: Settings, served: Collection[str]) -> list[KeyStatus]:
    """Keys that are set and have no effect here; `served` are the channels that there are."""
    idle = [each for each in _judged(settings) if each.status == "not yet"]
    return [*idle, *_unserved(settings, served)]


def _unserved(settings: Settings, served: Collection[str]) -> Iterator[KeyStatus]:
    """Channels with keys for a plugin that is not there."""
    node = _child(settings.tree, "channels")
    for name, given in settings.channels.items():
        if name not in served and is_channel_on(settings.channels, name) and given.keys() - READ:
            reason = "has no effect: no plugin here has this channel"
            yield KeyStatus(dotted(("channels", name)), "not yet", reason, _PLUGIN, _child(node, name))


def unenforced(settings: Settings) -> list[KeyStatus]:
    """Restrictions that are set and that nothing enforces yet."""
    return [each for each in _judged(settings) if each.status == "restricts"]


def require_enforced(settings: Settings) -> None:
    """Raises ConfigError when the settings restrict agents in a way that would not be kept."""
    found = unenforced(settings)
    if not found:
        return
    lines, cures = [str(each) for each in found[:_MAX_SHOWN]], [each.cure for each in found[:_MAX_SHOWN]]
    if len(found) > _MAX_SHOWN:
        lines.append(f"and {len(found) - _MAX_SHOWN} more: colleague config check")
    raise ConfigError("\n".join(lines), hint="\n  ".join(cures))


class _SetKey(NamedTuple):
    """A key with a status, as it is set. `node` is where."""

    path: Keys
    mark: StatusMark
    default: Any
    value: Any
    node: Node | None


def _judged(settings: Settings) -> Iterator[KeyStatus]:
    for each in _set_keys(settings, (), settings.tree):
        if each.mark.status == "not yet":
            if settings.tree is not None and each.node is None:
                continue  # the main agent's own value, which is judged where it is written
            yield KeyStatus(dotted(each.path), "not yet", _reason(each), _LATER, each.node)
        elif each.mark.status == "restricts" and not _is_harmless(each):
            reason = "restricts agents, and nothing enforces it yet"
            yield KeyStatus(dotted(each.path), "restricts", reason, _cure(settings, each), each.node)


def _reason(found: _SetKey) -> str:
    apart = found.mark.apart and f", apart from {found.mark.apart}"
    return f"has no effect yet{apart}"


def _is_harmless(found: _SetKey) -> bool:
    return found.value == found.default or found.mark.harmless(found.value)


def _cure(settings: Settings, found: _SetKey) -> str:
    value = json.dumps(found.default, default=str)
    if found.node is None or found.node.document.file in settings.own_files:
        return f"remove {dotted(found.path)}, or set it to {value}"
    if whole := next((index for index, key in enumerate(found.path) if isinstance(key, int)), 0):
        name = dotted(found.path[:whole])
        return f"put {name} without it in colleague.json: a list there replaces the one in openclaw.json"
    text = value
    for key in reversed(found.path):
        name = str(key) if str(key).isidentifier() else json.dumps(key, ensure_ascii=False)
        text = f"{{ {name}: {text} }}"
    return f"put {text} in colleague.json, which wins over openclaw.json"


def _set_keys(section: Section, path: Keys, node: Node | None) -> Iterator[_SetKey]:
    """The keys that are set and have a status. What is below such a key belongs to it."""
    fields = type(section).model_fields
    for name in [each for each in fields if each in section.model_fields_set]:
        value, default = getattr(section, name), _default(fields[name])
        alias = fields[name].alias or name
        at, child = (*path, alias), _child(node, alias, type(section).renamed)
        if value == default and value in (None, (), {}):
            continue  # nothing is said by it
        if (mark := mark_of(fields[name])) is not None:
            yield _SetKey(at, mark, default, value, child)
        else:
            yield from _below(value, at, child)


def _below(value: Any, path: Keys, node: Node | None) -> Iterator[_SetKey]:
    if isinstance(value, Section):
        yield from _set_keys(value, path, node)
        return
    for key, item in _items(value):
        yield from _below(item, (*path, key), _child(node, key))


def _items(value: Any) -> Iterator[tuple[Key, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, tuple):
        yield from enumerate(value)


def _child(node: Node | None, key: Key, renamed: Mapping[str, str] | None = None) -> Node | None:
    """What is written under the key, or under its other name; None when nothing is."""
    inside = node.value if node is not None else None
    if isinstance(inside, list) and isinstance(key, int) and key < len(inside):
        return inside[key]
    if not isinstance(inside, dict):
        return None
    other = [name for name, real in (renamed or {}).items() if real == key]
    return next((inside[name] for name in (str(key), *other) if name in inside), None)


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
