"""A person's yes to a plugin, and its end."""

from __future__ import annotations

import time
from collections.abc import Mapping

from colleague.config import Settings
from colleague.errors import UsageError
from colleague.home import Home
from colleague.plugins.records import PluginRecord, change_record, read_plugin_records
from colleague.plugins.report import require_plugin
from colleague.user_name import user_name


async def enable_plugin(home: Home, settings: Settings, environ: Mapping[str, str], name: str) -> str:
    """Enables the files as they are now, and loads them once to see what they add. The sentence why it cannot
    be loaded; empty when it can."""
    from colleague.plugins.plugin_set import load_one

    found = require_plugin(home, name)
    if found.problem:
        raise UsageError(f"the plugin {name} cannot be enabled: {found.problem}")
    record = PluginRecord(found.digest, user_name(), int(time.time() * 1000))
    change_record(home, name, lambda _: record)
    loaded = await load_one(home, settings, environ, found)
    return loaded if isinstance(loaded, str) else ""


def disable_plugin(home: Home, name: str) -> None:
    """Raises NotFound for one that is neither there nor enabled."""
    if name not in read_plugin_records(home):
        require_plugin(home, name)
        return
    change_record(home, name, lambda _: None)
