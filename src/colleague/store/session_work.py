"""What all sessions do, at a glance, and which questions belong to one."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.store.approvals import Approval, pending_approvals
from colleague.store.run import Run
from colleague.store.sql import func, select
from colleague.store.tables import approvals, is_open, runs, sql_literal
from colleague.store.tx import Tx

DEEPEST = 10
"""A run that was handed over more often than this belongs to nobody."""
MOST_QUESTIONS = 200


def working_sessions(tx: Tx) -> Mapping[str, str]:
    """Sessions with an unfinished run, by key: `running` when one of them is, else how the first stands."""
    rows = tx.all(select(runs.c.session_key, runs.c.status).where(is_open()).order_by(runs.c.id))
    found: dict[str, str] = {}
    for row in rows:
        if row.status == "running" or row.session_key not in found:
            found[row.session_key] = row.status
    return found


def question_counts(tx: Tx) -> Mapping[str, int]:
    """How many questions of each session wait for a person; those without one are left out."""
    pending = approvals.c.status == sql_literal("pending")
    query = select(runs.c.session_key, func.count().label("questions")).join(
        approvals, approvals.c.run_id == runs.c.id
    )
    rows = tx.all(query.where(pending).group_by(runs.c.session_key))
    return {row.session_key: int(row.questions) for row in rows}


def questions_of(tx: Tx, session_key: str) -> list[Approval]:
    """The questions of a session and of what it handed over that wait for a person, the oldest first."""
    known: dict[str, bool] = {}
    return [
        each
        for each in pending_approvals(tx, MOST_QUESTIONS)
        if _belongs(tx, each.run_id, session_key, known)
    ]


def _belongs(tx: Tx, run_id: str, session_key: str, known: dict[str, bool]) -> bool:
    if run_id not in known:
        known[run_id] = _climb(tx, run_id, session_key)
    return known[run_id]


def _climb(tx: Tx, run_id: str | None, session_key: str) -> bool:
    for _ in range(DEEPEST):
        found = tx.find(Run, runs, {"id": run_id}) if run_id else []
        if not found or found[0].session_key == session_key:
            return bool(found)
        run_id = found[0].parent_run
    return False
