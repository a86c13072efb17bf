"""Questions to a person from work that a session handed over, however deep."""

from __future__ import annotations

from colleague.store.run import sessions_above
from colleague.store.sql import select
from colleague.store.tables import approvals, runs, sql_literal
from colleague.store.tx import Tx

_OF_CHILDREN = (
    select(approvals.c.id, runs.c.parent_run)
    .join(runs, runs.c.id == approvals.c.run_id)
    .where(approvals.c.status == sql_literal("pending"), runs.c.parent_run.is_not(None))
    .order_by(approvals.c.requested_at, approvals.c.id)
)


def child_questions(tx: Tx, session_key: str) -> list[str]:
    """The ids of those that wait for a decision, the oldest first."""
    return [row.id for row in tx.all(_OF_CHILDREN) if session_key in sessions_above(tx, row.parent_run)]
