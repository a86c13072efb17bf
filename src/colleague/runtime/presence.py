"""Whether anybody works on the runs of a home at this moment."""

from __future__ import annotations

from colleague.config import Settings
from colleague.errors import HomeBusy
from colleague.home import Home
from colleague.runtime.gateway_file import gateway_runs
from colleague.store.notify import CHANNEL
from colleague.store.sql import text
from colleague.store.tx import Database, Tx


async def nobody_works(home: Home, settings: Settings, database: Database) -> bool:
    """True when no gateway, worker or command would take a run that is queued."""
    if settings.experts.database is None:
        return _is_lock_free(home)
    return not gateway_runs(home) and not await database.read(_workers_listen)


def _is_lock_free(home: Home) -> bool:
    """On SQLite whoever works holds the lock. One that may not be looked at says nothing."""
    try:
        with home.working(wait_seconds=0):
            return True
    except (HomeBusy, OSError):
        return False


def _workers_listen(tx: Tx) -> bool:
    """Every worker on PostgreSQL has one connection that listens, and its last statement says so."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query = :listens LIMIT 1"
    return tx.execute(text(query), {"listens": f"LISTEN {CHANNEL}"}).first() is not None
