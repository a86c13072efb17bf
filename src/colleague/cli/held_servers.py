"""Servers that a running gateway does not start: commands do not start them, either."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home


async def servers_on_hold(home: Home, settings: Settings) -> frozenset[str]:
    """Those that wait for a yes. Without a gateway there are none: a person who starts them accepts them."""
    from colleague.runtime.gateway_file import gateway_runs

    if not gateway_runs(home):
        return frozenset()
    import os

    from colleague.clock import SystemClock
    from colleague.experts.launch_acceptance import held_servers
    from colleague.store.open_database import open_database

    database = open_database(home, settings, os.environ, SystemClock())
    try:
        return await held_servers(database, settings)
    finally:
        await database.close()
