"""Waiting out what passes, and nothing else."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from colleague.agent.models.failure import ModelFailure, Reason
from colleague.agent.models.retry import RetryPolicy, Wait, think_with_retries
from tests.integration.models import openai_wire as wire
from tests.integration.models.asking import HELLO, at, with_server
from tests.integration.models.server import Page, Stream, WireServer

SAID = Stream(wire.said("Hi."))
BUSY = Page(503, wire.error("Loading model"))


@dataclass
class Waited:
    """A patience whose time passes only while it sleeps."""

    left: float = math.inf
    slept: list[float] = field(default_factory=list)
    told: list[Wait] = field(default_factory=list)

    def patience(self, jitter: Callable[[], float] = lambda: 1.0) -> RetryPolicy:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return RetryPolicy(lambda: self.left - sum(self.slept), self.told.append, sleep, jitter)


def ask(waited: Waited, *answers: Page | Stream) -> tuple[str, int]:
    async def run(server: WireServer) -> tuple[str, int]:
        try:
            said = (await think_with_retries(at(server), HELLO, None, waited.patience())).text
        except ModelFailure as failure:
            said = failure.reason
        return said, len(server.requests)

    return with_server(run, *answers)


@pytest.mark.parametrize(
    "page",
    [BUSY, Page(529, ""), Page(500, ""), Page(502, ""), Page(429, wire.error("slow")), Stream([], end="cut")],
)
def test_what_passes_is_waited_out(page: Page | Stream) -> None:
    waited = Waited()
    assert ask(waited, page, page, page, SAID) == ("Hi.", 4)
    assert waited.slept == [1, 2, 4]
    assert [wait.attempt for wait in waited.told] == [1, 2, 3]
    assert all(wait.failure.can_wait for wait in waited.told)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Page(400, wire.error("bad")), "format"),
        (Page(400, wire.error("maximum context length")), "context_overflow"),
        (Page(401, wire.error("no")), "auth"),
        (Page(402, wire.error("no")), "billing"),
        (Page(404, wire.error("no")), "not_found"),
        (Page(200, "<html>"), "unknown"),
    ],
)
def test_everything_else_is_raised_at_once(page: Page | Stream, reason: str) -> None:
    waited = Waited()
    assert ask(waited, page, SAID) == (reason, 1)
    assert waited.slept == []


@pytest.mark.parametrize("events", [[], wire.spoken("Hel")])
def test_a_provider_that_falls_silent_is_asked_again(events: list[str]) -> None:
    waited, silent = Waited(), Stream(events, end="stall")

    async def run(server: WireServer) -> tuple[str, list[str]]:
        model = at(server, idle_seconds=0.5)
        reply = await think_with_retries(model, HELLO, None, waited.patience())
        return reply.text, [wait.failure.reason for wait in waited.told]

    assert with_server(run, silent, silent, SAID) == ("Hi.", ["stalled", "stalled"])


def test_one_that_stays_silent_is_given_up() -> None:
    async def run(server: WireServer) -> tuple[str, int]:
        try:
            await think_with_retries(at(server, idle_seconds=0.5), HELLO, None, Waited().patience())
        except ModelFailure as failure:
            return failure.reason, len(server.requests)
        raise AssertionError("it answered")

    assert with_server(run, Stream([], end="stall")) == ("stalled", 3)


def test_the_provider_says_how_long() -> None:
    waited = Waited()
    page = Page(429, wire.error("slow"), {"Retry-After": "90"})
    assert ask(waited, page, SAID) == ("Hi.", 2)
    assert waited.slept == [91]


def test_a_provider_that_asks_for_no_wait_is_not_hammered() -> None:
    waited = Waited()
    page = Page(429, wire.error("slow"), {"Retry-After": "0"})
    assert ask(waited, page, page, SAID) == ("Hi.", 3)
    assert waited.slept == [1, 2]


def test_a_wait_that_does_not_fit_is_not_begun() -> None:
    waited = Waited(left=30)
    page = Page(429, wire.error("slow"), {"Retry-After": "60"})
    assert ask(waited, page, SAID) == ("rate_limit", 1)
    assert waited.slept == []


def test_the_time_is_up_at_some_point() -> None:
    waited = Waited(left=20)
    assert ask(waited, BUSY) == ("overloaded", 5)
    assert waited.slept == [1, 2, 4, 8]


def test_no_time_at_all_still_ends_with_a_reason() -> None:
    assert ask(Waited(left=0), SAID)[0] == "timeout"


def test_waits_grow_to_a_minute_and_differ() -> None:
    failure = ModelFailure("overloaded", "busy")
    least, most = Waited().patience(lambda: 0.0), Waited().patience(lambda: 1.0)
    assert [most.seconds(failure, n) for n in (1, 2, 6, 7, 8, 500)] == [1, 2, 32, 60, 60, 60]
    assert [least.seconds(failure, n) for n in (1, 2, 7)] == [0.5, 1, 30]


@pytest.mark.parametrize(
    ("reason", "streamed", "waits"),
    [
        ("server", False, True),
        ("server", True, True),
        ("cut", True, True),
        ("timeout", False, False),
        ("stalled", True, True),
    ],
)
def test_what_may_pass(reason: Reason, streamed: bool, waits: bool) -> None:
    assert ModelFailure(reason, "x", streamed=streamed).can_wait is waits


def test_a_wait_may_be_told_by_a_coroutine_and_cancelled() -> None:
    async def run(server: WireServer) -> list[float]:
        waits: list[float] = []

        async def tell(wait: Wait) -> None:
            waits.append(wait.seconds)

        patience = RetryPolicy(lambda: math.inf, tell, first_seconds=60)
        task = asyncio.create_task(think_with_retries(at(server), HELLO, None, patience))
        while not waits:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return waits

    assert 30 <= with_server(run, BUSY)[0] <= 60
