"""How a home stands: counts, for one glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.store.approvals import count_approvals
from colleague.store.outbox import TO_READ, TO_SEND
from colleague.store.paging import Order, Page, count_rows
from colleague.store.record import columns_of, record
from colleague.store.run import Run, get_run
from colleague.store.spend import day_of
from colleague.store.sql import Statement, func, select
from colleague.store.tables import approvals, is_open, outbox, runs, spend, sql_literal
from colleague.store.tx import Tx

_DEAD = (runs.c.outcome == sql_literal("dead_letter"),)


@dataclass(frozen=True)
class SpentByExpert:
    """What an expert cost today."""

    expert: str
    tokens: int
    cost: float


def runs_by_status(tx: Tx) -> dict[str, int]:
    """Unfinished runs only, so that the cost does not grow with history."""
    query = select(runs.c.status, func.count()).where(is_open()).group_by(runs.c.status)
    return _counted(tx, query)


def pending_by_kind(tx: Tx) -> dict[str, int]:
    pending = approvals.c.status == sql_literal("pending")
    return _counted(tx, select(approvals.c.kind, func.count()).where(pending).group_by(approvals.c.kind))


def _counted(tx: Tx, query: Statement) -> dict[str, int]:
    rows: Any = tx.all(query)
    return {str(sql_literal): int(count) for sql_literal, count in rows}


def dead_letters(tx: Tx, *, limit: int, after: str | None = None) -> Page[Run]:
    """The oldest first: they have waited longest."""
    query = select(runs.c.id).where(*_DEAD)
    page = Order(runs, (runs.c.ended_at,)).page(tx, query, limit=limit, after=after)
    return Page([get_run(tx, row.id) for row in page.items], page.next_after)


def count_dead_letters(tx: Tx) -> int:
    """What `colleague deadletter list` shows."""
    return count_rows(tx, runs, _DEAD)


def count_questions(tx: Tx) -> int:
    """What waits for a person, drafts too: what `colleague approval list` shows."""
    return count_approvals(tx, learnings=False)


def count_learnings(tx: Tx) -> int:
    """Proposed learnings that nobody has decided: what `colleague learning list` shows."""
    return count_approvals(tx, learnings=True)


def count_unread(tx: Tx) -> int:
    """Deliveries that nobody has read: what `colleague delivery list` shows."""
    return count_rows(tx, outbox, TO_READ)


def open_runs(tx: Tx, limit: int) -> list[Run]:
    """Unfinished ones, the oldest first."""
    query = select(*columns_of(Run, runs)).where(is_open()).order_by(runs.c.created_at, runs.c.id)
    return [record(Run, row) for row in tx.all(query.limit(limit))]


def unsent(tx: Tx) -> int:
    """What is to be sent and was not, also because its channel is not connected. What is for main is not."""
    return count_rows(tx, outbox, TO_SEND)


def spent_today_by_expert(tx: Tx) -> list[SpentByExpert]:
    tokens = func.sum(spend.c.input_tokens + spend.c.output_tokens)
    query = select(spend.c.expert, tokens, func.sum(spend.c.cost)).where(spend.c.day == day_of(tx.now))
    rows: Any = tx.all(query.group_by(spend.c.expert).order_by(spend.c.expert))
    return [record(SpentByExpert, row) for row in rows]


def workers(tx: Tx) -> list[dict[str, Any]]:
    """Who works on how many runs now."""
    query = (
        select(runs.c.worker, func.count())
        .where(runs.c.status == sql_literal("running"))
        .group_by(runs.c.worker)
    )
    return [{"worker": name, "runs": count} for name, count in _counted(tx, query).items()]
