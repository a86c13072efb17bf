"""Standing permissions: they relax `confirm`, never `manual`. Every use is counted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import insert, or_, select, update

from colleague.errors import NotFound
from colleague.store.ids import new_id
from colleague.store.record import columns_of, record
from colleague.store.tables import grants
from colleague.store.tx import Tx


@dataclass(frozen=True)
class Grant:
    """One row of `grants`. Without a run it holds for every run of the expert."""

    id: str
    expert: str
    operation: str
    run_id: str | None
    created_at: int
    created_by: str
    expires_at: int | None
    revoked_at: int | None
    uses: int


_COLUMNS = columns_of(Grant, grants)


def give_grant(
    tx: Tx, expert: str, operation: str, *, by: str, run_id: str | None = None, lasts_ms: int | None = None
) -> str:
    grant_id = new_id()
    tx.execute(
        insert(grants).values(
            id=grant_id,
            expert=expert,
            operation=operation,
            run_id=run_id,
            created_at=tx.now,
            created_by=by,
            expires_at=None if lasts_ms is None else tx.now + lasts_ms,
            uses=0,
        )
    )
    return grant_id


def granted_operations(tx: Tx, expert: str, run_id: str) -> frozenset[str]:
    return frozenset(grant.operation for grant in _live(tx, expert, run_id))


def use_grant(tx: Tx, expert: str, operation: str, run_id: str) -> bool:
    """Whether a grant covers this operation in this run, now; its use is counted."""
    for grant in _live(tx, expert, run_id):
        if grant.operation == operation:
            tx.execute(update(grants).where(grants.c.id == grant.id).values(uses=grants.c.uses + 1))
            return True
    return False


def _live(tx: Tx, expert: str, run_id: str) -> list[Grant]:
    query = select(*_COLUMNS).where(
        grants.c.expert == expert,
        grants.c.revoked_at.is_(None),
        or_(grants.c.run_id.is_(None), grants.c.run_id == run_id),
        or_(grants.c.expires_at.is_(None), grants.c.expires_at > tx.now),
    )
    return [record(Grant, row) for row in tx.all(query)]


def revoke_grant(tx: Tx, grant_id: str) -> None:
    same = (grants.c.id == grant_id, grants.c.revoked_at.is_(None))
    if not tx.changed(update(grants).where(*same).values(revoked_at=tx.now)):
        raise NotFound(f"there is no live grant {grant_id!r}", hint="see them with: colleague grant list")


def all_grants(tx: Tx) -> list[Grant]:
    return [
        record(Grant, row)
        for row in tx.all(select(*_COLUMNS).order_by(grants.c.created_at.desc()).limit(1000))
    ]
