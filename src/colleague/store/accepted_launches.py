"""Entries of MCP servers that a person has accepted. Kept by digest, for every process on the database."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from colleague.store.sql import select
from colleague.store.tables import accepted_launches
from colleague.store.tx import Tx


@dataclass(frozen=True)
class LaunchEntry:
    """A server as the settings have it. `command` is for people, without secrets."""

    digest: str
    server: str
    command: str


def accepted_digests(tx: Tx, digests: Collection[str]) -> frozenset[str]:
    """Those of these that were accepted."""
    query = select(accepted_launches.c.digest).where(accepted_launches.c.digest.in_(digests))
    return frozenset(row.digest for row in tx.all(query))


def accept_launch(tx: Tx, entry: LaunchEntry, by: str) -> None:
    """From now on it may be started; the first who accepted it is kept."""
    tx.insert_once(
        accepted_launches,
        digest=entry.digest,
        server=entry.server,
        command=entry.command,
        accepted_at=tx.now,
        accepted_by=by,
    )
