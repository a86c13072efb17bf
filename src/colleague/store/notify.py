"""Telling workers that there is something to do: a wake-up, not an assignment."""

from __future__ import annotations

from colleague.store.sql import text
from colleague.store.tx import Tx

CHANNEL = "colleague_wake"


def wake(tx: Tx) -> None:
    """After the commit, every worker of this process looks for work; on PostgreSQL every other one, too."""
    if tx.locks_rows:
        tx.execute(text(f"NOTIFY {CHANNEL}"))
    tx.after_commit(tx.tell_workers)
