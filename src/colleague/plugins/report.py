"""Plugins as people see them: what each is, whether it counts, what it added, what went wrong in it."""

from __future__ import annotations

from typing import Any, Literal

from colleague.clock import iso
from colleague.config import Settings
from colleague.config.channel_access import is_channel_on
from colleague.errors import ConfigError, NotFound
from colleague.home import Home
from colleague.plugins.discovery import FoundPlugin, find_plugins
from colleague.plugins.records import PluginRecord, read_plugin_records
from colleague.suggest import did_you_mean

PluginStatus = Literal["on", "off", "off by settings", "changed", "broken", "gone"]
KINDS = ("hooks", "tools", "channels", "model_providers", "search_providers", "speech_providers")
LOAD = "load"
"""The place of a problem that keeps a plugin from being loaded."""


def plugin_documents(home: Home, off: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """All that are there or were enabled. `off`: those that the settings keep from being loaded."""
    found, records = find_plugins(home), read_plugin_records(home)
    names = sorted({*found, *(name for name, each in records.items() if each.enabled)})
    return [
        _document(name, found.get(name), records.get(name, PluginRecord()), name in off) for name in names
    ]


def plugin_channels(home: Home, settings: Settings) -> frozenset[str]:
    """The channels of the plugins that count, as each registered them when it was loaded last."""
    names = _registered(home, settings, "channels")
    return frozenset(name for name in names if is_channel_on(settings.channels, name))


def plugin_model_providers(home: Home, settings: Settings) -> frozenset[str]:
    """As `plugin_channels`."""
    return _registered(home, settings, "model_providers")


def _registered(home: Home, settings: Settings, kind: str) -> frozenset[str]:
    off = frozenset(name for name, each in settings.plugins.entries.items() if not each.enabled)
    found = plugin_documents(home, off) if settings.plugins.enabled else []
    return frozenset(name for each in found if each["status"] == "on" for name in each[kind])


def served_channels(home: Home, settings: Settings) -> frozenset[str]:
    """All channels that are there: our own, and those of plugins. A broken list of plugins has none."""
    from colleague.channels.channel_list import OWN_CHANNELS  # needs the store

    try:
        return plugin_channels(home, settings) | OWN_CHANNELS
    except ConfigError:
        return OWN_CHANNELS


def _document(name: str, found: FoundPlugin | None, record: PluginRecord, off: bool) -> dict[str, Any]:
    return {
        "name": name,
        "status": _status(found, record, off),
        "kind": found.kind if found else None,
        "path": str(found.path) if found else None,
        "version": (found.version if found else "") or None,
        "digest": (found.digest if found else "") or None,
        "enabled_by": record.enabled_by or None,
        "enabled_at": iso(record.enabled_at or None),
        **{kind: list(record.registered.get(kind, ())) for kind in KINDS},
        "problems": [*_not_loadable(found), *(vars(each) | {"at": iso(each.at)} for each in record.problems)],
    }


def _not_loadable(found: FoundPlugin | None) -> list[dict[str, Any]]:
    if found is None or not found.problem:
        return []
    return [{"place": LOAD, "message": found.problem, "count": 1, "at": None}]


def _status(found: FoundPlugin | None, record: PluginRecord, off: bool) -> PluginStatus:
    if found is None:
        return "gone"
    if found.problem:
        return "broken"
    if not record.enabled:
        return "off"
    if found.digest != record.digest:
        return "changed"
    if off:
        return "off by settings"
    return "broken" if any(each.place == LOAD for each in record.problems) else "on"


def require_plugin(home: Home, name: str) -> FoundPlugin:
    """Raises NotFound when there is none of that name."""
    found = find_plugins(home)
    if name not in found:
        hint = did_you_mean(name, found) or f"put it into {home.plugins / name}, with a plugin.py"
        raise NotFound(f"there is no plugin {name!r}", hint=hint)
    return found[name]
