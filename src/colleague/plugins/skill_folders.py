"""The skills that plugins bring: the folder `skills` of each one that a person enabled."""

from __future__ import annotations

from pathlib import Path

from colleague.config import Settings
from colleague.errors import ConfigError
from colleague.home import Home
from colleague.plugins.discovery import find_plugins
from colleague.plugins.records import read_plugin_records


def plugin_skill_folders(home: Home, settings: Settings) -> list[Path]:
    """Nothing of a plugin is imported for it. What has changed since it was enabled does not count."""
    try:
        records = read_plugin_records(home) if settings.plugins.enabled else {}
    except ConfigError:
        return []
    entries = settings.plugins.entries
    wanted = {
        name: each.digest
        for name, each in records.items()
        if each.enabled and (name not in entries or entries[name].enabled)
    }
    if not wanted:
        return []
    found = find_plugins(home)
    same = [found[name] for name, digest in wanted.items() if name in found and found[name].digest == digest]
    return [each.path / "skills" for each in same if (each.path / "skills").is_dir()]
