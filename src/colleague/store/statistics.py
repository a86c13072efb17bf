"""How runs went in the last days, in numbers. Every query is over a window of time that an index answers, or
over the newest rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from statistics import median_low
from typing import Any, get_args

from colleague.clock import iso
from colleague.errors import UsageError
from colleague.overview_document import (
    CauseCount,
    DecisionBrief,
    OutcomeCount,
    OverviewDocument,
    QueueCount,
    SpendCount,
    WaitCount,
)
from colleague.run_document import RunOutcome
from colleague.store.spend import day_of
from colleague.store.sql import bindparam, func, select
from colleague.store.tables import approvals, is_open, runs, spend, sql_literal
from colleague.store.tx import Tx

DAY_MS = 86_400_000
MOST_DAYS = 31
LOOKED_AT = 2_000
"""How many decisions and failures are looked at, the newest first."""
MOST_CAUSES = 8
BAD: tuple[str, ...] = ("failed", "dead_letter", "abandoned")
WAITS = (0, 60, 600, 3_600, 14_400, 86_400)
"""Where the groups of waiting times begin, in seconds."""

_DECIDED = approvals.c.status == sql_literal("decided")
_COUNTED = {
    outcome: select(func.count())
    .select_from(runs)
    .where(
        runs.c.outcome == sql_literal(outcome),
        runs.c.created_at >= bindparam("begin"),
        runs.c.created_at < bindparam("end"),
    )
    for outcome in get_args(RunOutcome)
}
_CAUSE = re.compile(r"[^:\n\d'\"(`]{1,60}")


def overview_document(tx: Tx, days: int) -> OverviewDocument:
    """The last days, today with them. Raises UsageError."""
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(f"{days} days cannot be shown", hint=f"from 1 to {MOST_DAYS}")
    since = (tx.now // DAY_MS - days + 1) * DAY_MS
    waits = sorted(waited // 1000 for waited in _waits(tx, since))
    return {
        "days": [day_of(since + number * DAY_MS) for number in range(days)],
        "outcomes": list(_outcomes(tx, since)),
        "spend": _spend(tx, since),
        "queue": _queue(tx),
        "waits": _grouped(waits),
        "median_wait_seconds": median_low(waits) if waits else None,
        "failures": _failures(tx, since),
        "looked_at": LOOKED_AT,
    }


def _outcomes(tx: Tx, since: int) -> Iterator[OutcomeCount]:
    """Each outcome and day by itself: the index of outcomes counts them without the rows, and without
    sorting."""
    for outcome in get_args(RunOutcome):
        for begin in range(since, tx.now + 1, DAY_MS):
            counted = tx.execute(_COUNTED[outcome], {"begin": begin, "end": begin + DAY_MS}).scalar_one()
            if counted:
                yield {"day": day_of(begin), "outcome": outcome, "runs": int(counted)}


def _spend(tx: Tx, since: int) -> list[SpendCount]:
    tokens = func.sum(spend.c.input_tokens + spend.c.output_tokens)
    query = (
        select(spend.c.day, spend.c.expert, tokens.label("tokens"), func.sum(spend.c.cost).label("cost"))
        .where(spend.c.day >= day_of(since))
        .group_by(spend.c.day, spend.c.expert)
        .order_by(spend.c.day, spend.c.expert)
    )
    return [
        {"day": row.day, "expert": row.expert, "tokens": int(row.tokens), "cost": float(row.cost)}
        for row in tx.all(query)
    ]


def _queue(tx: Tx) -> list[QueueCount]:
    query = select(runs.c.expert, runs.c.status, func.count().label("runs")).where(is_open())
    rows = tx.all(query.group_by(runs.c.expert, runs.c.status).order_by(runs.c.expert, runs.c.status))
    return [{"expert": row.expert, "status": row.status, "runs": row.runs} for row in rows]


def _waits(tx: Tx, since: int) -> list[int]:
    """How long the newest decisions of people were waited for, in milliseconds."""
    query = select(approvals.c.decided_at, approvals.c.requested_at).where(
        _DECIDED, approvals.c.decided_at >= since
    )
    rows = tx.all(query.order_by(approvals.c.decided_at.desc()).limit(LOOKED_AT))
    return [max(0, row.decided_at - row.requested_at) for row in rows]


def _grouped(seconds: list[int]) -> list[WaitCount]:
    ends = (*WAITS[1:], None)
    return [
        {
            "from_seconds": begin,
            "to_seconds": end,
            "decisions": sum(begin <= each and (end is None or each < end) for each in seconds),
        }
        for begin, end in zip(WAITS, ends, strict=True)
    ]


def _failures(tx: Tx, since: int) -> list[CauseCount]:
    """The most frequent causes of the newest failures."""
    found: Counter[str] = Counter()
    for outcome in BAD:
        which = (runs.c.outcome == sql_literal(outcome), runs.c.created_at >= since)
        query = select(func.substr(runs.c.error, 1, 80)).where(*which)
        rows = tx.all(query.order_by(runs.c.created_at.desc()).limit(LOOKED_AT))
        found.update(cause_of(row[0]) for row in rows)
    return [{"cause": cause, "runs": count} for cause, count in found.most_common(MOST_CAUSES)]


def cause_of(error: str | None) -> str:
    """The beginning of an error that others of its kind share: without numbers, quotes and details."""
    line = (error or "").strip().partition("\n")[0]
    found = _CAUSE.match(line)
    return found[0].strip() if found and found[0].strip() else line[:60]


def slow_decisions(
    tx: Tx, since: int, from_seconds: int, to_seconds: int | None, limit: int
) -> list[DecisionBrief]:
    """Decisions of people that were waited for so long, of the newest ones; the latest first."""
    waited = approvals.c.decided_at - approvals.c.requested_at
    newest = (
        select(approvals.c.id)
        .where(_DECIDED, approvals.c.decided_at >= since)
        .order_by(approvals.c.decided_at.desc())
        .limit(LOOKED_AT)
    )
    query = select(approvals).where(approvals.c.id.in_(newest), waited >= from_seconds * 1000)
    if to_seconds is not None:
        query = query.where(waited < to_seconds * 1000)
    return [_brief(row) for row in tx.all(query.order_by(approvals.c.decided_at.desc()).limit(limit))]


def _brief(row: Any) -> DecisionBrief:
    return {
        "id": row.id,
        "run_id": row.run_id,
        "expert": row.expert,
        "operation": row.operation,
        "kind": row.kind,
        "decision": row.decision,
        "decided_by": row.decided_by,
        "decided_at": iso(row.decided_at),
        "waited_seconds": max(0, row.decided_at - row.requested_at) // 1000,
    }


def day_start(day: str) -> int:
    """The first moment of a day of UTC, in milliseconds."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
