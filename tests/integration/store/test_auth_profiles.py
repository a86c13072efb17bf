"""Auth profiles in both databases: cooldowns that grow, that end, and that people end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from colleague.clock import MovableClock
from colleague.store.auth_profiles import (
    COOLDOWNS_MS,
    EVERY_MODEL,
    FORGIVEN_MS,
    ProfileBook,
    clear_cooldowns,
    forget_profile,
    note_failed,
    note_used,
    read_book,
    set_order,
)
from colleague.store.model_requests import ANSWERED, NewModelRequest, add_model_request, model_requests_of
from colleague.store.tx import Database
from tests.integration.store.databases import Opener

Acts = Callable[[Database, MovableClock], Awaitable[None]]


def play(opener: Opener, acts: Acts) -> None:
    async def go() -> None:
        clock = MovableClock()
        database = opener(clock)
        try:
            await acts(database, clock)
        finally:
            await database.close()

    asyncio.run(go())


async def book_of(database: Database) -> ProfileBook:
    return await database.read(lambda tx: read_book(tx, agent_id="main"))


async def fail(
    database: Database, reason: str = "rate_limit", model: str = "m", asked: int | None = None
) -> int:
    """How long it rests then, in milliseconds."""
    noted = await database.write(lambda tx: note_failed(tx, "work", model, reason, asked))
    return (noted.cooldown_until or 0) - (await book_of(database)).now


def test_each_failure_in_a_row_rests_longer_and_an_answer_ends_it(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        lasted = []
        for _ in range(5):
            lasted.append(rest := await fail(database))
            clock.move(seconds=rest / 1000 + 1)
            assert (await book_of(database)).resting("work", "m") is None
        assert lasted == [*COOLDOWNS_MS, COOLDOWNS_MS[-1]]
        await database.write(lambda tx: note_used(tx, "work", "m"))
        assert await fail(database) == COOLDOWNS_MS[0]

    play(opener, acts)


def test_requests_that_fail_together_count_once(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await asyncio.gather(*(fail(database) for _ in range(8)))
        [row] = [each for each in (await book_of(database)).stats if each.model == "m"]
        assert (row.error_count, row.failure_counts) == (1, {"rate_limit": 8})

    play(opener, acts)


@pytest.mark.parametrize("asked", [0, 90_000])
def test_the_provider_says_how_long(opener: Opener, asked: int) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        assert await fail(database, asked=asked) == max(asked, 1000)

    play(opener, acts)


def test_a_wrong_key_rests_for_all_models_and_others_for_one(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fail(database, model="m")
        book = await book_of(database)
        assert book.resting("work", "m") is not None
        assert book.resting("work", "other") is None
        await fail(database, "auth", EVERY_MODEL)
        resting = (await book_of(database)).resting("work", "other")
        assert resting is not None
        assert resting.reason == "auth"

    play(opener, acts)


def test_after_a_day_without_failures_all_is_forgiven(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fail(database)
        clock.move(seconds=COOLDOWNS_MS[0] / 1000 + 1)
        await fail(database)
        clock.move(seconds=FORGIVEN_MS / 1000 + 1)
        assert await fail(database) == COOLDOWNS_MS[0]

    play(opener, acts)


def test_people_end_cooldowns_set_orders_and_forget(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fail(database)
        assert await database.write(lambda tx: clear_cooldowns(tx, ["work", "home"])) == ["work"]
        assert (await book_of(database)).resting("work", "m") is None
        for names in (["b", "a"], ["a"]):
            await database.write(lambda tx, names=names: set_order(tx, "main", "lab", names))
        assert (await book_of(database)).orders == {"lab": ("a",)}
        await database.write(lambda tx: set_order(tx, "main", "lab", []))
        assert (await book_of(database)).orders == {}
        await database.write(lambda tx: forget_profile(tx, "work"))
        assert (await book_of(database)).stats == []

    play(opener, acts)


def test_requests_are_kept_in_order_with_their_cost(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        first = NewModelRequest("main", 1, "lab/m1", "work", "off", "cut", "broke\0 off" * 200, 50, 2, 0.25)
        for made in (first, NewModelRequest("main", 1, "lab/m1", "home", "off", ANSWERED)):
            await database.write(lambda tx, made=made: add_model_request(tx, "r", made))
        one, two = await database.read(lambda tx: model_requests_of(tx, "r"))
        assert (one.outcome, one.input_tokens, one.cost, len(one.error or "")) == ("cut", 50, 0.25, 1000)
        assert (two.outcome, two.input_tokens, two.cost) == (ANSWERED, None, None)

    play(opener, acts)
