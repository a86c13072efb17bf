"""Which runs a list shows: how they stand, whose they are, since when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from colleague.duration import parse_duration
from colleague.errors import UsageError
from colleague.run_document import RunOutcome, RunStatus
from colleague.store.paging import Order, Page, count_rows
from colleague.store.record import columns_of, record
from colleague.store.run import Run
from colleague.store.sql import Expression, Select, or_, select
from colleague.store.tables import is_open, runs, sql_literal
from colleague.store.tx import Tx
from colleague.suggest import did_you_mean

STATUSES: tuple[str, ...] = get_args(RunStatus)
OUTCOMES: tuple[str, ...] = get_args(RunOutcome)
WORDS = (*STATUSES, *OUTCOMES)
_ENDED = "done"
_ORDER = Order(runs, (runs.c.created_at,), descending=True)


@dataclass(frozen=True)
class RunFilter:
    """`words` are statuses and outcomes, of which one must fit; `since` and `until` are times in
    milliseconds; `error` is how the error begins.

    `text` is in the id, the process, the inputs or the error; capitals make no difference."""

    words: tuple[str, ...] = ()
    expert: str = ""
    since: int | None = None
    until: int | None = None
    error: str = ""
    text: str = ""

    def page(self, tx: Tx, *, limit: int, after: str | None = None) -> Page[Run]:
        """The newest first. Each word is asked for by itself, so that an index answers it."""
        pages = [_ORDER.page(tx, query, limit=limit, after=after) for query in self.queries()]
        rows = [row for page in pages for row in page.items]
        rows.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        more = len(rows) > limit or any(page.next_after for page in pages)
        found = [record(Run, row) for row in rows[:limit]]
        return Page(found, found[-1].id if more else None)

    def count(self, tx: Tx) -> int:
        return sum(count_rows(tx, runs, conditions) for conditions in self._conditions())

    def queries(self) -> list[Select]:
        """One for each word; they have no run in common."""
        return [select(*columns_of(Run, runs)).where(*each) for each in self._conditions()]

    def _conditions(self) -> Iterator[list[Expression]]:
        rest: list[Expression] = []
        if self.expert:
            rest.append(runs.c.expert == self.expert)
        if self.since is not None:
            rest.append(runs.c.created_at >= self.since)
        if self.until is not None:
            rest.append(runs.c.created_at < self.until)
        if self.error:
            rest.append(runs.c.error.startswith(self.error))
        if self.text:
            searched = (runs.c.id, runs.c.process, runs.c.inputs, runs.c.error)
            rest.append(or_(*(column.icontains(self.text) for column in searched)))
        for word in self._apart():
            yield [*_is(word), *rest]

    def _apart(self) -> tuple[str, ...]:
        """The words without those that others of them contain; an empty one for all runs."""
        if _ENDED in self.words:
            return tuple(word for word in dict.fromkeys(self.words) if word not in OUTCOMES)
        return tuple(dict.fromkeys(self.words)) or ("",)


def _is(word: str) -> tuple[Expression, ...]:
    if not word:
        return ()
    if word in OUTCOMES:
        return (runs.c.outcome == sql_literal(word),)
    if word == _ENDED:
        return (runs.c.status == sql_literal(word),)
    return (is_open(), runs.c.status == sql_literal(word))


def filter_words(text: str) -> tuple[str, ...]:
    """Statuses and outcomes with commas between. Raises UsageError for a word that is neither."""
    found = tuple(filter(None, (word.strip().replace("-", "_") for word in text.split(","))))
    for word in found:
        if word not in WORDS:
            hint = did_you_mean(word, WORDS) or f"one of: {', '.join(WORDS)}"
            raise UsageError(f"no run has the status {word!r}", hint=hint)
    return found


def since_ms(text: str, now: int) -> int | None:
    """The beginning that `2h`, `2026-11-16` or an ISO time says. A time without a zone is of this machine.

    Raises UsageError."""
    if not text:
        return None
    try:
        return now - parse_duration(text).milliseconds
    except ValueError:
        pass
    try:
        return int(datetime.fromisoformat(text.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        hint = "write how long ago, such as 30m, 2h or 7d; or a date or time, such as 2026-11-16"
        raise UsageError(f"{text!r} is no time to begin at", hint=hint) from None
