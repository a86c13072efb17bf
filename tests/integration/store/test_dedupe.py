"""Dedupe keys: an event may have several, and any that is known makes it a repeat."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from colleague.store.accept import Accepted, Arrival, accept_all
from colleague.store.sql import func, select
from colleague.store.tables import dedupe, events
from colleague.store.tx import Database
from tests.integration.store.databases import Opener
from tests.integration.store.test_store import MovableClock, on

ARRIVAL = Arrival("clerk", "test", "test", "{}", "s", lane=None)


def keyed(keys: Sequence[str], unsigned: str | None = None) -> Arrival:
    return replace(ARRIVAL, dedupe_keys=tuple(keys), unsigned_key=unsigned)


async def send(database: Database, *arrivals: Arrival) -> list[Accepted]:
    return await database.write(lambda tx: accept_all(tx, arrivals))


def test_any_known_key_makes_a_repeat(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        [first] = await send(database, keyed(["a", "b"], "c"))
        for again in (keyed(["a"]), keyed(["x", "b"]), keyed(["y"], "c"), keyed(["b"], "z")):
            assert await send(database, again) == [replace(first, duplicate=True)]
        assert (await database.read(lambda tx: tx.one(select(events.c.duplicates)))) == (4,)

    on(opener, acts)


def test_a_repeat_claims_what_was_signed_and_nothing_else(opener: Opener) -> None:
    """A sender signs its retry anew: those bytes are known then, too. An id that nobody signed is not."""

    async def acts(database: Database, clock: MovableClock) -> None:
        [first] = await send(database, keyed(["signed:1"], "delivery:1"))
        await send(database, keyed(["signed:2"], "delivery:1"))
        [captured] = await send(database, keyed(["signed:2"], "delivery:7"))
        assert captured == replace(first, duplicate=True)
        [honest] = await send(database, keyed(["signed:7"], "delivery:7"))
        assert not honest.duplicate

    on(opener, acts)


def test_a_key_that_has_expired_is_claimed_anew(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        [first] = await send(database, keyed(["a"], "b"))
        clock.move(days=8)
        [later] = await send(database, keyed(["a"], "c"))
        assert not later.duplicate
        [again] = await send(database, keyed(["a"], "b"))
        assert again == replace(later, duplicate=True)
        [other] = await send(database, keyed(["d"], "b"))
        assert (other.duplicate, first.event_id != other.event_id) == (False, True)

    on(opener, acts)


def test_a_hundred_at_once_that_share_one_key_of_two(opener: Opener) -> None:
    """Each pair of neighbours shares a key, in changing order: nobody waits for ever, and nobody is lost."""

    async def acts(database: Database, clock: MovableClock) -> None:
        arrivals = [keyed(random.sample([f"k{n}", f"k{n + 1}"], 2)) for n in range(100)]
        found = await asyncio.gather(*(send(database, each) for each in arrivals))
        accepted = [each for [each] in found]
        new = [n for n, each in enumerate(accepted) if not each.duplicate]
        assert all(later - earlier > 1 for earlier, later in pairwise(new))
        assert await database.read(_count(events)) == len(new)
        owners = await database.read(lambda tx: {row[0] for row in tx.all(select(dedupe.c.event_id))})
        assert owners == {accepted[n].event_id for n in new}

    on(opener, acts)


def test_two_at_once_with_the_same_bytes_and_different_ids(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for number in range(20):
            pair = [keyed([f"signed:{number}"], f"delivery:{number}-{each}") for each in range(2)]
            found = await asyncio.gather(*(send(database, each) for each in pair))
            assert sorted(each.duplicate for [each] in found) == [False, True]
            assert len({each.event_id for [each] in found}) == 1

    on(opener, acts)


def _count(table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
    return lambda tx: int(tx.execute(select(func.count()).select_from(table)).scalar_one())


Batches = list[list[tuple[list[str], str | None]]]


def some_batches(chance: random.Random) -> Batches:
    def one() -> tuple[list[str], str | None]:
        return chance.sample("abcdef", chance.randrange(4)), chance.choice([None, "u", "v", "w"])

    return [[one() for _ in range(chance.randrange(1, 4))] for _ in range(chance.randrange(1, 7))]


def expected(batches: Batches) -> list[int]:
    """The number of the arrival that each one is, or repeats: the rule in a few plain lines."""
    owners: dict[str, int] = {}
    found: list[int] = []
    for keys, unsigned in (each for batch in batches for each in batch):
        every = [*keys, unsigned] if unsigned else keys
        known = [owners[key] for key in every if key in owners]
        event = min(known) if known else len(found)
        for key in keys if known else every:
            owners.setdefault(key, event)
        found.append(event)
    return found


def test_any_order_of_keys(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for seed in range(60):
            batches = some_batches(random.Random(seed))
            accepted: list[Accepted] = []
            for batch in batches:
                arrivals = [replace(keyed(*each), trigger=f"t{seed}") for each in batch]
                accepted += await send(database, *arrivals)
            first: dict[str, int] = {}
            numbers = [first.setdefault(each.event_id, n) for n, each in enumerate(accepted)]
            assert numbers == expected(batches), seed
            assert [each.duplicate for each in accepted] == [n != each for n, each in enumerate(numbers)]

    on(opener, acts)
