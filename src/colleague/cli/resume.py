"""Whether a run can be gone on with, and what to do instead where not."""

from __future__ import annotations

from sqlalchemy import select

from colleague.errors import ColleagueError
from colleague.store.approvals import approvals_of
from colleague.store.ids import short
from colleague.store.run import Run, get_run
from colleague.store.sweep import GRACE_MS
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx


def require_resumable(tx: Tx, database: Database, run_id: str) -> None:
    """Raises ColleagueError for a run that has ended, waits for a person, or is in somebody's hands."""
    run = get_run(tx, run_id)
    ending = short(run_id)
    if run.status == "done":
        raise ColleagueError(f"run {ending} has ended: {run.outcome}", hint=_after_the_end(run))
    if run.status == "waiting":
        asked = " ".join(short(each.id) for each in approvals_of(tx, run_id) if each.holds)
        raise ColleagueError(
            f"run {ending} waits for a person", hint=f"decide: colleague approve {asked}, or colleague reject"
        )
    if run.status == "running" and _is_held(tx, database, run_id):
        hint = f"watch: colleague run watch {ending}"
        raise ColleagueError(f"run {ending} is under way: {run.worker} works on it", hint=hint)


def _after_the_end(run: Run) -> str:
    ending = short(run.id)
    if run.outcome == "completed":
        return f"look at it: colleague run show {ending}"
    return f"try it again: colleague run retry {ending}"


def _is_held(tx: Tx, database: Database, run_id: str) -> bool:
    """Whether its worker still renews its lease. On SQLite whoever asks holds the home, or a gateway does."""
    if not database.shared:
        return False
    row = tx.one(select(runs.c.lease_until).where(runs.c.id == run_id))
    return row is not None and (row[0] or 0) >= database.lease_now(tx) - GRACE_MS
