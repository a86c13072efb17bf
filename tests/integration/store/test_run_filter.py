"""Lists of runs: by status and outcome, by expert, since a time; in pages that miss nothing."""

from __future__ import annotations

import pytest

from colleague.errors import UsageError
from colleague.store.run_filter import RunFilter, filter_words, since_ms
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx
from tests.integration.store.databases import Opener
from tests.integration.store.test_store import MovableClock, on, send

ENDS = ("completed", "failed", None, "dead_letter", "completed", None)
EXPERTS = ("sales", "desk")


async def fill(database: Database, clock: MovableClock) -> list[str]:
    """Twelve runs, a minute apart: two rounds of every end; the experts take turns, two by two."""
    made = []
    for number in range(12):
        accepted = await send(database, expert=EXPERTS[number // 2 % 2], lane=None)
        made.append(str(accepted.run_id))
        outcome = ENDS[number % len(ENDS)]
        if outcome:
            end = {"status": "done", "outcome": outcome, "ended_at": clock.now()}

            def work(tx: Tx, run_id: str = made[-1], end: dict[str, object] = end) -> None:
                tx.update(runs, {"id": run_id}, **end)

            await database.write(work)
        clock.move(seconds=60)
    return made


async def read_all(database: Database, wanted: RunFilter, limit: int) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = await database.read(lambda tx, after=after: wanted.page(tx, limit=limit, after=after))
        found += [run.id for run in page.items]
        if page.next_after is None:
            return found
        assert len(page.items) == limit
        after = page.next_after


CASES = {
    "all": (RunFilter(), range(12)),
    "queued": (RunFilter(("queued",)), (2, 5, 8, 11)),
    "ended": (RunFilter(("done",)), (0, 1, 3, 4, 6, 7, 9, 10)),
    "ended, said twice": (RunFilter(("done", "failed", "done")), (0, 1, 3, 4, 6, 7, 9, 10)),
    "an outcome": (RunFilter(("failed",)), (1, 7)),
    "words of both kinds": (RunFilter(("queued", "dead_letter", "failed")), (1, 2, 3, 5, 7, 8, 9, 11)),
    "an expert": (RunFilter(expert="desk"), (2, 3, 6, 7, 10, 11)),
    "an expert's": (RunFilter(("completed",), "desk"), (6, 10)),
    "nobody's": (RunFilter(expert="nobody"), ()),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("limit", [1, 3, 50])
def test_every_run_that_fits_is_on_one_page(opener: Opener, name: str, limit: int) -> None:
    wanted, numbers = CASES[name]

    async def acts(database: Database, clock: MovableClock) -> None:
        made = await fill(database, clock)
        expected = [made[number] for number in reversed(numbers)]
        assert await read_all(database, wanted, limit) == expected
        assert await database.read(wanted.count) == len(expected)

    on(opener, acts)


def test_since_a_time(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        made = await fill(database, clock)
        began = await database.read(lambda tx: since_ms("3m", tx.now))
        assert await read_all(database, RunFilter(since=began), 2) == made[:-4:-1]
        assert await read_all(database, RunFilter(("failed",), since=began), 2) == []

    on(opener, acts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("2h", 1_000_000_000_000 - 7_200_000),
        ("2001-09-09T01:46:40Z", 1_000_000_000_000),
        ("2001-09-09T03:46:40+02:00", 1_000_000_000_000),
    ],
)
def test_times_to_begin_at(text: str, expected: int | None) -> None:
    assert since_ms(text, 1_000_000_000_000) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "-2h", "2w", "0001-01-01T00:00:00+23:59"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError):
        since_ms(text, 1_000_000_000_000)


def test_words() -> None:
    assert filter_words(" queued, dead-letter,") == ("queued", "dead_letter")
    with pytest.raises(UsageError) as raised:
        filter_words("queued,complete")
    assert raised.value.hint == "did you mean 'completed'?"
