"""Retries of a model request: after rate limits, overload, failing servers, lost connections."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta, OnDelta
from colleague.agent.models.failure import MOST_STALLS, ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.silence import OnSilence, SilenceWatch
from colleague.agent.models.think import think


@dataclass(frozen=True)
class Wait:
    """One wait: why, how long, and how often it failed so far."""

    failure: ModelFailure
    seconds: float
    attempt: int


OnWait = Callable[[Wait], Awaitable[None] | None]


@dataclass(frozen=True)
class RetryPolicy:
    """How long to go on trying. A wait that does not fit in `remaining()` seconds is not begun."""

    remaining: Callable[[], float]
    on_wait: OnWait | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    """From 0 to 1."""
    first_seconds: float = 1.0
    most_seconds: float = 60.0
    on_silence: OnSilence | None = None

    def seconds(self, failure: ModelFailure, attempt: int) -> float:
        """Twice as long each time, and never less than the provider asked for; with a random share."""
        longest = min(self.most_seconds, self.first_seconds * 2.0 ** min(attempt - 1, 30))
        asked = failure.retry_after or 0.0
        share = self.jitter()
        return max(longest * (0.5 + share / 2), asked + share * min(1.0, asked / 10))

    async def wait(self, failure: ModelFailure, attempt: int) -> None:
        """Raises `failure` when it will not pass, or not in time."""
        seconds = self.seconds(failure, attempt)
        if not failure.can_wait or seconds >= self.remaining():
            raise failure
        if self.on_wait and inspect.isawaitable(telling := self.on_wait(Wait(failure, seconds, attempt))):
            await telling
        await self.sleep(seconds)


async def think_with_retries(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    policy: RetryPolicy,
    *,
    connections: Connections | None = None,
) -> Reply:
    """Asks until there is an answer, or the time is up, or waiting does not help. Raises ModelFailure."""
    attempt = stalls = 0
    while True:
        attempt += 1
        try:
            return await _try(model, _within(request, model, policy), on_delta, policy, connections)
        except ModelFailure as failure:
            stalls = stalls + 1 if failure.reason == "stalled" else 0
            if stalls >= MOST_STALLS:
                raise
            await policy.wait(failure, attempt)


async def _try(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    policy: RetryPolicy,
    connections: Connections | None,
) -> Reply:
    with SilenceWatch(policy.on_silence) as watch:

        def on_part(delta: Delta) -> Awaitable[None] | None:
            watch.heard()
            return on_delta(delta) if on_delta is not None else None

        return await think(model, request, on_part, connections=connections)


def _within(request: ThinkRequest, model: ResolvedModel, policy: RetryPolicy) -> ThinkRequest:
    limits = [request.timeout_seconds, model.timeout_seconds, policy.remaining()]
    least = min(limit for limit in limits if limit is not None)
    return replace(request, timeout_seconds=max(0.0, least)) if least < math.inf else request
