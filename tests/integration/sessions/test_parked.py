"""A call that needs a yes is parked: talking goes on, and what is decided is a turn of its own, made once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.approvals import Answer, Approval, decide, pending_approvals
from colleague.store.sweep import sweep
from tests.integration.sessions.talk import Talk, settled
from tests.integration.store.databases import Opener


@asynccontextmanager
async def talking(opener: Opener) -> AsyncIterator[Talk]:
    clock = MovableClock()
    talk = Talk([opener(clock)], clock, seed=1, sessions=1)
    try:
        yield talk
    finally:
        await talk.databases[0].close()


async def say(talk: Talk, text: str) -> None:
    [database], [key] = talk.databases, talk.keys
    await database.write(lambda tx: send_message(tx, talk.settings, key, SessionMessage(text)))
    await settled(talk)


async def asked(talk: Talk) -> list[Approval]:
    return await talk.databases[0].read(pending_approvals)


async def answer(talk: Talk, approval: Approval, decision: Any, said: str | None = None) -> None:
    given = Answer(approval.id, approval.digest, decision, "ann", "so it is", said)
    await talk.databases[0].write(lambda tx: decide(tx, given))
    await settled(talk)


async def texts(talk: Talk) -> list[str]:
    return [f"{item.role}: {item.text}" for item in await talk.items(talk.keys[0]) if item.text]


def test_talking_goes_on_and_the_yes_runs_the_call_once(opener: Opener) -> None:
    async def story() -> None:
        async with talking(opener) as talk:
            await say(talk, "#1 please do")
            [question] = await asked(talk)
            assert (question.parked, talk.ledger.lines) == (True, [])
            await say(talk, "#2")
            assert (await texts(talk))[-2:] == ["user: #2", "assistant: #1 #2"]
            await answer(talk, question, "approve")
            assert talk.ledger.lines == ["#1"]
            assert (await texts(talk))[-2].startswith("event: ledger.append was approved by ann: so it is")
            assert await asked(talk) == []

    asyncio.run(story())


@pytest.mark.parametrize(("decision", "said"), [("reject", None), ("respond", '"it is done already"')])
def test_a_no_and_an_answer_are_turns_too(opener: Opener, decision: str, said: str | None) -> None:
    async def story() -> None:
        async with talking(opener) as talk:
            await say(talk, "#1 please do")
            await answer(talk, (await asked(talk))[0], decision, said)
            assert talk.ledger.lines == []
            assert (await texts(talk))[-1].startswith("assistant: ")

    asyncio.run(story())


def test_several_wait_and_each_is_decided_by_itself(opener: Opener) -> None:
    async def story() -> None:
        async with talking(opener) as talk:
            for number in (1, 2, 3):
                await say(talk, f"#{number} please do")
            first, second, third = sorted(await asked(talk), key=lambda each: each.arguments)
            await answer(talk, second, "approve")
            await answer(talk, third, "reject")
            assert (talk.ledger.lines, [each.id for each in await asked(talk)]) == (["#2"], [first.id])

    asyncio.run(story())


@pytest.mark.parametrize(("decision", "lines"), [("happened", 1), ("again", 2), ("give_up", 1)])
def test_a_yes_counts_for_one_send(opener: Opener, decision: str, lines: int) -> None:
    async def story() -> None:
        async with talking(opener) as talk:
            await say(talk, "#1 please do")
            talk.ledger.lose_answers = 1
            await answer(talk, (await asked(talk))[0], "approve")
            [question] = await asked(talk)
            assert (question.kind, question.parked, talk.ledger.lines) == ("uncertain", True, ["#1"])
            await say(talk, "#2")
            await answer(talk, question, decision)
            assert (talk.ledger.lines, await asked(talk)) == (["#1"] * lines, [])

    asyncio.run(story())


def test_a_question_that_nobody_answers_in_time_is_a_turn(opener: Opener) -> None:
    async def story() -> None:
        async with talking(opener) as talk:
            talk.expires_ms = 60_000
            await say(talk, "#1 please do")
            talk.clock.move(seconds=61)
            await sweep(talk.databases[0])
            await settled(talk)
            assert (talk.ledger.lines, await asked(talk)) == ([], [])
            assert "nobody answered in time" in "\n".join(await texts(talk))

    asyncio.run(story())
