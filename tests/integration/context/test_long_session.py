"""Conversations that are longer than their model can read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.context.compaction import ITEM_SOURCE
from colleague.agent.models.failure import ModelFailure
from colleague.budget import Budget
from colleague.clock import MovableClock
from colleague.store.compactions import Compaction, latest_compaction
from colleague.store.model_requests import model_requests_of
from colleague.store.session_entry import get_session
from colleague.store.session_items import items_of
from colleague.store.session_search import search_items
from colleague.store.spend import spent_by_run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Tx
from tests.integration.context.desk import KEY, Desk, Pages, Reader
from tests.integration.store.databases import Opener

Acts = Callable[[Desk], Awaitable[None]]


def at_desk(opener: Opener, acts: Acts, **desk: Any) -> None:
    async def sit() -> None:
        database = opener(MovableClock())
        try:
            await acts(Desk(database, **desk))
        finally:
            await database.close()

    asyncio.run(sit())


def latest(tx: Tx) -> Compaction | None:
    return latest_compaction(tx, get_session(tx, str(KEY)).id)


def test_three_hundred_turns_with_two_megabytes_in_a_window_of_32k(tmp_path: Path) -> None:
    async def talk(desk: Desk) -> None:
        for number in range(1, 301):
            said = "Fact: the code of Heron is K-4711-Q. " if number == 3 else ""
            run = await desk.say(f"{said}Please fetch page {number}.")
            assert run.outcome == "completed", run.error
        assert desk.pages.calls * desk.pages.chars >= 2_000_000
        run = await desk.say("What is the code of Heron?")
        assert run.narrative == "It is K-4711-Q."
        assert max(desk.model.seen_chars) < 32_000 * 4
        entry = await desk.database.read(lambda tx: get_session(tx, str(KEY)))
        assert entry.compaction_count == desk.model.summaries == len(desk.told("auto_compaction_end"))
        assert entry.compaction_count > 10
        found = await desk.database.read(lambda tx: search_items(tx, "Heron", limit=5))
        assert found, "the whole transcript stays, and can be searched"

    at_desk(lambda clock: SqliteDatabase(tmp_path / "colleague.sqlite", clock), talk)


async def fill(desk: Desk, turns: int = 12) -> None:
    await desk.say("Fact: the code of Heron is K-4711-Q.")
    for number in range(turns):
        run = await desk.say(f"Please fetch page {number}.")
        assert run.outcome == "completed", run.error


def test_a_compaction_is_told_once_counted_and_seen(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk)
        starts, ends = desk.told("auto_compaction_start"), desk.told("auto_compaction_end")
        assert len(starts) == len(ends) >= 1
        assert {end["outcome"] for end in ends} == {"completed"}
        assert all(end["tokens_after"] < end["tokens_before"] for end in ends)
        entry, items, made = await desk.database.read(
            lambda tx: (get_session(tx, str(KEY)), items_of(tx, str(KEY), limit=1000), latest(tx))
        )
        assert entry.compaction_count == len(ends)
        told = [item.text for item in items if item.source == ITEM_SOURCE]
        assert len(told) == len(ends)
        assert "a summary stands for" in told[0]
        assert made is not None
        assert (made.number, made.cause) == (len(ends), "auto")
        assert "K-4711-Q" in made.summary
        shown = json.loads(entry.context_report or "{}")
        assert shown["total"] <= shown["window"] - shown["room_for_answer"]
        assert shown["summary"] > 0

    at_desk(opener, talk, window=16_000)


def test_requests_for_a_summary_are_stored_and_counted(opener: Opener) -> None:
    """Also those of a summary that is no use: they were paid for."""
    useless = iter(["", "Small talk."])

    async def talk(desk: Desk) -> None:
        await fill(desk, 3)
        run = await desk.say("/compact")
        assert run.outcome == "completed"
        requests, spent = await desk.database.read(
            lambda tx: (model_requests_of(tx, run.id), spent_by_run(tx, run.id))
        )
        assert [each.outcome for each in requests] == ["answered", "answered"]
        assert all(each.session.startswith("compaction@") for each in requests)
        assert all(each.model == "test/reader" for each in requests)
        assert spent.input_tokens == sum(each.input_tokens or 0 for each in requests) > 0

    at_desk(opener, talk, model=Reader(summarise=lambda _: next(useless)))


def test_a_compaction_that_failed_is_in_what_the_session_has_used(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk, 3)
        before = await desk.database.read(lambda tx: get_session(tx, str(KEY)))
        run = await desk.say("/compact")
        assert run.outcome == "failed"
        after, spent = await desk.database.read(
            lambda tx: (get_session(tx, str(KEY)), spent_by_run(tx, run.id))
        )
        assert after.input_tokens - before.input_tokens == spent.input_tokens > 0
        assert after.output_tokens - before.output_tokens == spent.output_tokens

    at_desk(opener, talk, model=Reader(summarise=lambda _: ""))


def test_a_budget_holds_for_summaries(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk, 3)
        desk.spec = {"run_budget": Budget(tokens=1)}
        run = await desk.say("/compact")
        assert run.outcome == "failed"
        assert "the budget of the run is used up" in str(run.error)
        assert desk.model.summaries == 1

    at_desk(opener, talk, model=Reader(summarise=lambda _: ""))


@pytest.mark.parametrize("window", [16_000, None])
def test_overflow_that_only_the_provider_sees_is_compacted_and_asked_again(
    opener: Opener, window: int | None
) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk)
        assert (await desk.say("What is the code of Heron?")).narrative == "It is K-4711-Q."
        ends = desk.told("auto_compaction_end")
        assert ends
        assert any(end["cause"] == "overflow" and end["will_retry"] for end in ends)

    at_desk(opener, talk, window=window, model=Reader(real_window=30_000))


@pytest.mark.parametrize(
    ("summary", "why"), [("", "empty"), ("  \n", "empty"), ("so " * 40_000, "longer than")]
)
def test_a_summary_that_is_no_use_changes_nothing_and_the_turn_goes_on(
    opener: Opener, summary: str, why: str
) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk)
        assert await desk.database.read(latest) is None
        assert desk.model.summaries == 3 * len(desk.told("auto_compaction_start"))
        ends = desk.told("auto_compaction_end")
        assert {end["outcome"] for end in ends} == {"failed"}
        assert why in ends[0]["text"]
        per_run = len(desk.told("agent_end"))
        assert len(ends) <= per_run, "once in a run, and not before each request"
        run = await desk.say("What is the code of Heron?")
        assert run.outcome == "completed"

    at_desk(opener, talk, window=16_000, model=Reader(summarise=lambda _: summary))


def test_a_summariser_that_overflows_is_given_less(opener: Opener) -> None:
    """It refuses what the agent's own requests may have: half of its outputs are left out, then more."""
    sizes: list[int] = []

    def picky(record: str) -> str:
        sizes.append(len(record))
        if len(record) > 24_000:
            raise ModelFailure("context_overflow", "prompt is too long")
        return "Fact: the code of Heron is K-4711-Q."

    async def talk(desk: Desk) -> None:
        await fill(desk)
        assert (await desk.say("What is the code of Heron?")).narrative == "It is K-4711-Q."
        assert sizes[0] > 24_000 >= min(sizes)
        assert await desk.database.read(latest) is not None

    at_desk(opener, talk, window=16_000, model=Reader(summarise=picky))


def test_without_compaction_results_are_cut_and_old_turns_left_out(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk, 20)
        assert not desk.told("auto_compaction_start")
        assert (await desk.say("hello")).outcome == "completed"

    at_desk(opener, talk, window=8_000, compaction={"enabled": False})


def test_one_answer_with_more_output_than_the_window(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        run = await desk.say("Please fetch it.")
        assert run.outcome == "completed", run.error

    at_desk(opener, talk, window=4_000, pages=Pages(chars=500_000))


def test_a_message_that_cannot_fit_fails_with_a_sentence_and_the_session_goes_on(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await desk.say("Fact: the code of Heron is K-4711-Q.")
        run = await desk.say("word " * 20_000)
        assert run.outcome == "failed"
        assert "longer than test/reader can read" in str(run.error)
        assert (await desk.say("What is the code of Heron?")).narrative == "It is K-4711-Q."

    at_desk(opener, talk, window=8_000)


def test_a_model_with_a_tiny_window_is_refused(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        run = await desk.say("hello")
        assert run.outcome == "failed"
        assert "needs at least 4,000" in str(run.error)
        assert desk.model.seen_chars == []

    at_desk(opener, talk, window=3_999)


def test_a_person_compacts_and_says_what_must_stay(opener: Opener) -> None:
    records: list[str] = []

    def keeping(record: str) -> str:
        records.append(record)
        return "Fact: the code of Heron is K-4711-Q."

    async def talk(desk: Desk) -> None:
        assert (await desk.say("/compact")).narrative == "There is nothing to shorten yet."
        await fill(desk, 3)
        run = await desk.say("/compact the codes of birds")
        assert "a summary stands for" in str(run.narrative)
        assert "Above all keep this: the codes of birds" in records[0]
        assert "/compact" not in records[0].partition("<data")[2]
        assert (await desk.say("What is the code of Heron?")).narrative == "It is K-4711-Q."
        made = await desk.database.read(latest)
        assert made is not None
        assert made.cause == "manual"

    at_desk(opener, talk, model=Reader(summarise=keeping))


def test_a_restart_reads_only_what_comes_after_the_summary(opener: Opener) -> None:
    async def talk(desk: Desk) -> None:
        await fill(desk)
        fresh = Desk(desk.database, window=16_000)
        assert (await fresh.say("What is the code of Heron?")).narrative == "It is K-4711-Q."
        made = await desk.database.read(latest)
        assert made is not None
        [known] = fresh.history._known.values()
        assert min(seq for seq, _ in known.turns) >= made.seq
        assert fresh.model.seen_chars[0] < 16_000 * 4

    at_desk(opener, talk, window=16_000)
