"""What runs cost: tokens, money and tool calls, per run and per expert and day."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from colleague.store.record import columns_of, record
from colleague.store.sql import Expression, bindparam, func, insert, select
from colleague.store.tables import spend
from colleague.store.tx import Tx

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Spent:
    """A sum of usage. `input_tokens` includes those read from and written to a provider's cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    tool_calls: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, more: Spent) -> Spent:
        return Spent(**{name: value + getattr(more, name) for name, value in asdict(self).items()})


def add_spend(tx: Tx, expert: str, run_id: str, used: Spent) -> None:
    this = {"expert": expert, "day": day_of(tx.now), "run_id": run_id}
    tx.execute(_ADD, this | asdict(used))


_ROW = insert(spend).values({column.name: bindparam(column.name) for column in spend.c})
_ADD = _ROW.on_conflict_do_update(
    index_elements=["expert", "day", "run_id"],
    set_={name: spend.c[name] + _ROW.excluded[name] for name in Spent.__dataclass_fields__},
)
"""A row for the day, or more on the one that is there."""


def spent_by_run(tx: Tx, run_id: str) -> Spent:
    return _sum(tx, spend.c.run_id == run_id)


def spent_today(tx: Tx, expert: str) -> Spent:
    return _sum(tx, (spend.c.expert == expert) & (spend.c.day == day_of(tx.now)))


def spent_by_day(tx: Tx, expert: str, days: int) -> list[tuple[str, Spent]]:
    """The last days, today first; a day without anything is there, too."""
    names = [day_of(tx.now - number * DAY_MS) for number in range(days)]
    columns = [func.sum(column) for column in columns_of(Spent, spend)]
    which = (spend.c.expert == expert) & (spend.c.day >= names[-1])
    rows = tx.all(select(spend.c.day, *columns).where(which).group_by(spend.c.day))
    found = {str(row[0]): _as_spent(record(Spent, row[1:])) for row in rows}
    return [(name, found.get(name, Spent())) for name in names]


def day_of(now: int) -> str:
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


def _sum(tx: Tx, which: Expression) -> Spent:
    columns = [func.coalesce(func.sum(column), 0) for column in columns_of(Spent, spend)]
    return _as_spent(record(Spent, tx.all(select(*columns).where(which))[0]))


def _as_spent(total: Spent) -> Spent:
    """Databases have sums of integers as decimals."""
    counted = {name: int(value) for name, value in asdict(total).items() if name != "cost"}
    return Spent(cost=float(total.cost), **counted)
