"""Forgetting the copies of packages that no run names any more."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Collection

from colleague.experts.registry import read_records
from colleague.home import Home
from colleague.packages.staging import STAGING
from colleague.store.sql import select
from colleague.store.tables import inbox, runs
from colleague.store.tx import Tx

log = logging.getLogger(__name__)

DAY_MS = 86_400_000


def digests_in_use(tx: Tx) -> set[str]:
    """Of every run that is still known: to go on with, and to tell of without what is private. Messages that
    wait for their turn name the package of that turn."""
    waiting = (json.loads(row.arrival)["arrival"]["digest"] for row in tx.all(select(inbox.c.arrival)))
    return {*(row.digest for row in tx.all(select(runs.c.digest).distinct())), *waiting}


def forget_snapshots(home: Home, needed: Collection[str], now_ms: int) -> list[str]:
    """Removes what is neither needed, nor installed, nor taken within a day; returns the digests."""
    kept = {*needed, *(record.digest for record in read_records(home).values())}
    gone = []
    for folder in sorted(home.snapshots.iterdir()) if home.snapshots.is_dir() else ():
        young = folder.stat().st_mtime * 1000 > now_ms - DAY_MS
        if folder.name in kept or folder.name == STAGING or young or not folder.is_dir():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        gone.append(folder.name)
    if gone:
        log.info("removed %d snapshots that no run names", len(gone))
    return gone
