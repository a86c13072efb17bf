"""Summaries that stand for the beginning of a transcript. The transcript itself stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.store.record import columns_of, record
from colleague.store.run import Hold, fenced
from colleague.store.sql import Select, and_, bindparam, or_, select, update
from colleague.store.tables import compactions, sessions
from colleague.store.tx import Tx

Cause = Literal["auto", "overflow", "manual"]


@dataclass(frozen=True)
class Compaction:
    """One row of `compactions`: stands for all that comes before (`seq`, `position`)."""

    scope: str
    number: int
    run_id: str
    seq: int
    position: int
    summary: str
    pinned: str
    """What must stay word for word, beside the summary."""
    cause: Cause
    messages: int
    tokens_before: int
    tokens_after: int

    @property
    def place(self) -> tuple[int, int]:
        return self.seq, self.position


_IN_SCOPE: Select = select(*columns_of(Compaction, compactions)).where(
    compactions.c.scope == bindparam("scope")
)
_LATEST = _IN_SCOPE.order_by(compactions.c.number.desc()).limit(1)
_LATEST_BEFORE = _LATEST.where(
    or_(
        compactions.c.seq < bindparam("before"),
        and_(compactions.c.seq == bindparam("before"), compactions.c.position < 0),
        compactions.c.run_id == bindparam("own_run"),
    )
)


def latest_compaction(
    tx: Tx, scope: str, *, before: int | None = None, own_run: str = ""
) -> Compaction | None:
    """The last one; with `before`, the last that counts for a run with this number: `own_run` may have one
    inside itself, any other stands for what came before it."""
    if before is None:
        rows = tx.rows(_LATEST, scope=scope)
    else:
        rows = tx.rows(_LATEST_BEFORE, scope=scope, before=before, own_run=own_run)
    return record(Compaction, rows[0]) if rows else None


def compaction_until(tx: Tx, scope: str, position: int, moment: int) -> Compaction | None:
    """The last one that was made until then and stands for nothing from a position on."""
    seen = compactions.c.position <= position, compactions.c.created_at <= moment
    rows = tx.rows(_LATEST.where(*seen), scope=scope)
    return record(Compaction, rows[0]) if rows else None


def add_compaction(tx: Tx, hold: Hold, compaction: Compaction) -> None:
    """Raises Fenced when somebody else holds the run. A number is unique: no second one fits."""
    fenced(tx, hold)
    tx.insert(compactions, **vars(compaction), created_at=tx.now)


def count_compaction(tx: Tx, session_key: str) -> None:
    """On the session's entry, if there is one."""
    more = sessions.c.compaction_count + 1
    tx.execute(update(sessions).where(sessions.c.key == session_key).values(compaction_count=more))
