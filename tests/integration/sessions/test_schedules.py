"""Random schedules of messages, modes, interrupts, stops, decisions and restarts: strict order in a session,
none lost, none twice, no deadlock."""

from __future__ import annotations

import asyncio
import os

import pytest

from colleague.clock import MovableClock
from colleague.store.session_items import SessionItem, items_of
from tests.integration.sessions.talk import MARK, Talk, handed_over, outcomes
from tests.integration.store.databases import Opener

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
STEERED = ("steered",)


async def live(opener: Opener, seed: int) -> Talk:
    clock = MovableClock()
    databases = [opener(clock)]
    if not type(databases[0]).__name__.startswith("Sqlite"):
        databases.append(opener(clock))
    talk = Talk(databases, clock, seed)
    try:
        await talk.live(200 if LONG else 40)
        await check(talk)
    finally:
        for database in databases:
            await database.close()
    return talk


async def check(talk: Talk) -> None:
    ends = {event: (run, outcome) for event, run, outcome in await outcomes(talk.databases[0])}
    for key in talk.keys:
        items = await talk.items(key)
        said = [item for item in items if item.role == "user"]
        told = {sent.event_id: mark for mark, sent in talk.sent[str(key)]}
        arrived = [item.event_id for item in said]
        skipped = [event for event in told if ends[event][1] == "skipped"]
        assert sorted(arrived) == sorted(set(told) - set(skipped)), (
            "each message is in the session once, or says why not"
        )
        assert all(ends[event][0] for event in arrived)
        queued = {sent.event_id for _, sent in talk.sent[str(key)] if sent.queued not in STEERED}
        in_turn = [event for event in arrived if event in queued]
        assert in_turn == sorted(in_turn), "what was not steered keeps its order"
        steered = [event for event in arrived if event not in queued]
        assert steered == sorted(steered), "what was steered keeps its order"
        check_model_saw(items)
        check_stopped(items)
    await check_children(talk)
    decided = {f"approval:{approval}" for approval in talk.approved}
    turns = [item for key in talk.keys for item in await talk.items(key) if item.source in decided]
    assert len(turns) == len(talk.approved)
    stopped = sum(item.run_id in talk.stopped for item in turns)
    asked_about = talk.counts["happened"] + talk.counts["give_up"]
    least = len(talk.approved) - stopped - asked_about
    assert least <= len(talk.ledger.lines) <= len(talk.approved), "what a person approved is made once"
    assert len(talk.ledger.keys) == len(set(talk.ledger.keys)), "no call is made twice"


async def check_children(talk: Talk) -> None:
    """What each child came to was told exactly once, where the work was handed over, and nothing of those
    that were ended with their parents."""
    handed = await handed_over(talk.databases[0])
    talk.counts["spawn"] = len(handed)
    for parent in {each.parent_session for each in handed}:
        items = await talk.databases[0].read(lambda tx, parent=parent: items_of(tx, parent, limit=100_000))
        told = [item.source for item in items if item.source.startswith("session:")]
        mine = [
            f"session:{each.child_session}"
            for each in handed
            if each.parent_session == parent and each.status == "told"
        ]
        assert sorted(told) == sorted(mine)
    assert {each.status for each in handed} <= {"told", "killed"}


def check_model_saw(items: list[object]) -> None:
    """Whatever the model said, it had been told every message before that once, in order."""
    before: list[str] = []
    for item in items:
        if item.role == "user":  # type: ignore[attr-defined]
            before += MARK.findall(item.text)  # type: ignore[attr-defined]
        elif item.role == "assistant" and item.text.startswith("#"):  # type: ignore[attr-defined]
            seen = [mark for mark in item.text.split() if mark.startswith("#")]  # type: ignore[attr-defined]
            unique = list(dict.fromkeys(seen))
            assert unique == [mark for mark in before if mark in set(unique)]
            assert set(unique) <= set(before)


def check_stopped(items: list[SessionItem]) -> None:
    """What was stopped stands at the end of its turn, before what the next one begins with."""
    for place, item in enumerate(items):
        if item.is_stopped:
            later = {each.run_id for each in items[place + 1 :] if each.role != "event"}
            earlier = {each.run_id for each in items[:place]}
            assert item.run_id in earlier - later


@pytest.mark.parametrize("seed", range(20 if LONG else 2))
def test_a_random_talk_stays_in_order(opener: Opener, seed: int) -> None:
    talk = asyncio.run(live(opener, seed))
    wanted = ("started", "steered", "queued", "collected", "interrupted", "restart", "spawn")
    assert min(talk.counts[what] for what in wanted) > 0, talk.counts
