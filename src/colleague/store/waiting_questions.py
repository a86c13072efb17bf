"""The questions of an inbox, what holds work up first, each kind with the oldest first."""

from __future__ import annotations

from colleague.store.approvals import Approval
from colleague.store.paging import Order, Page
from colleague.store.record import columns_of, record
from colleague.store.sql import case, select
from colleague.store.tables import approvals, sql_literal
from colleague.store.tx import Tx

_COLUMNS = columns_of(Approval, approvals)
_RISK = case(
    (approvals.c.kind == "uncertain", 0),
    (approvals.c.kind == "draft", 2),
    (approvals.c.kind == "learning", 3),
    else_=1,
)
"""An effect that may have happened comes before work that waits, and that before what holds nobody up."""


def waiting_page(tx: Tx, *, limit: int, after: str | None = None) -> Page[Approval]:
    query = select(*_COLUMNS).where(approvals.c.status == sql_literal("pending"))
    page = Order(approvals, (_RISK, approvals.c.requested_at)).page(tx, query, limit=limit, after=after)
    return Page([record(Approval, row) for row in page.items], page.next_after)


def decided_since(tx: Tx, since: int, *, limit: int) -> list[Approval]:
    """What people decided after that time, the newest first."""
    is_decided = approvals.c.status == sql_literal("decided")  # as the index says it
    query = select(*_COLUMNS).where(is_decided, approvals.c.decided_at > since)
    newest = query.order_by(approvals.c.decided_at.desc(), approvals.c.id.desc()).limit(limit)
    return [record(Approval, row) for row in tx.all(newest)]
