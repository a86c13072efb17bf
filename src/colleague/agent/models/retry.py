"""Asking one model until it answers: what passes is waited out, what can be mended is mended."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta, OnDelta
from colleague.agent.models.failure import DEAR, MOST_DEAR, ModelFailure
from colleague.agent.models.repair import repaired
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.silence import OnSilence, SilenceWatch
from colleague.agent.models.think import think
from colleague.agent.models.thinking import Level


@dataclass(frozen=True)
class Wait:
    """What is done after a failure: how long it is waited, or what is tried instead."""

    failure: ModelFailure
    seconds: float
    attempt: int
    """How often it failed so far."""
    then: str = ""
    """What is tried instead of the same request again, in a few words."""
    next_model: ResolvedModel | None = None


@dataclass(frozen=True)
class FailedTry:
    """One request that failed."""

    model: ResolvedModel
    thinking: Level
    failure: ModelFailure
    seconds: float


OnWait = Callable[[Wait], Awaitable[None] | None]
OnFailed = Callable[[FailedTry], Awaitable[None] | None]


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
    quick_seconds: float = 2.0
    """With somewhere else to go, a model is asked a second time within this time, or not at all."""
    on_silence: OnSilence | None = None
    on_failed: OnFailed | None = None
    """Is told of every request that failed, before anything is done about it."""
    before_retry: Callable[[], Awaitable[None]] | None = None
    """Called before each further request; what it raises ends the trying."""

    def seconds(self, failure: ModelFailure, attempt: int) -> float:
        """Twice as long each time, and never less than the provider asked for; with a random share."""
        longest = min(self.most_seconds, self.first_seconds * 2.0 ** min(attempt - 1, 30))
        asked = failure.retry_after or 0.0
        share = self.jitter()
        return max(longest * (0.5 + share / 2), asked + share * min(1.0, asked / 10))

    async def wait(self, failure: ModelFailure, attempt: int, *, most: float = math.inf) -> None:
        """Raises `failure` when it will not pass, or not in time."""
        seconds = self.seconds(failure, attempt)
        if not failure.can_wait or seconds >= min(self.remaining(), most):
            raise failure
        await self.tell(Wait(failure, seconds, attempt))
        await self.sleep(seconds)

    async def tell(self, wait: Wait) -> None:
        if self.on_wait and inspect.isawaitable(telling := self.on_wait(wait)):
            await telling

    async def note(self, failed: FailedTry) -> None:
        if self.on_failed and inspect.isawaitable(noting := self.on_failed(failed)):
            await noting

    async def check(self) -> None:
        if self.before_retry is not None:
            await self.before_retry()


async def think_with_retries(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    policy: RetryPolicy,
    *,
    connections: Connections | None = None,
) -> Reply:
    """Asks until there is an answer, or the time is up, or waiting does not help. Raises ModelFailure."""
    return await ModelTries(model, request, on_delta, policy, connections).answer()


class ModelTries:
    """The tries of one model with one key. `quick`: another may be asked, so it is not waited for."""

    def __init__(
        self,
        model: ResolvedModel,
        request: ThinkRequest,
        on_delta: OnDelta | None,
        policy: RetryPolicy,
        connections: Connections | None,
        *,
        quick: bool = False,
    ) -> None:
        self.model = model
        self._refused = connections.refused_levels if connections else set()
        self.request = self._with_accepted_level(request)
        self._on_delta, self._policy, self._connections = on_delta, policy, connections
        self._quick = quick
        self._began = time.monotonic()
        self._tries = self._dear = 0
        self._repaired = False

    async def answer(self) -> Reply:
        """Raises ModelFailure when this model is given up."""
        while True:
            started = time.monotonic()
            try:
                return await self._try()
            except ModelFailure as failure:
                seconds = time.monotonic() - started
                level = self.request.thinking.level
                await self._policy.note(FailedTry(self.model, level, failure, seconds))
                self._tries += 1
                await self._mend_or_wait(failure)
                await self._policy.check()

    def _with_accepted_level(self, request: ThinkRequest) -> ThinkRequest:
        """What the model has refused before is not offered again."""
        thinking = request.thinking
        while (self.model.name, thinking.level) in self._refused and (lower := thinking.lower()) is not None:
            thinking = lower
        return replace(request, thinking=thinking)

    async def _mend_or_wait(self, failure: ModelFailure) -> None:
        """Returns when it makes sense to ask once more; else raises the failure."""
        if failure.about_thinking and (lower := self.request.thinking.lower()) is not None:
            self._refused.add((self.model.name, self.request.thinking.level))
            self.request = replace(self.request, thinking=lower)
            await self._tell(failure, f"it is asked with thinking {lower.level}")
        elif failure.reason == "role_ordering" and not self._repaired:
            self._repaired = True
            self.request = replace(self.request, messages=repaired(self.request.messages))
            await self._tell(failure, "the order of the messages is repaired")
        elif self._quick:
            await self._wait_quickly(failure)
        else:
            self._dear = self._dear + 1 if failure.reason in DEAR else 0
            if self._dear >= MOST_DEAR:
                raise failure
            await self._policy.wait(failure, self._tries)

    async def _tell(self, failure: ModelFailure, then: str) -> None:
        await self._policy.tell(Wait(failure, 0.0, self._tries, then, self.model))

    async def _wait_quickly(self, failure: ModelFailure) -> None:
        """Another key may not have reached its limit, so that is not waited for at all."""
        left = self._policy.quick_seconds - (time.monotonic() - self._began)
        if self._tries > 1 or failure.reason == "rate_limit":
            raise failure
        await self._policy.wait(failure, 1, most=left)

    async def _try(self) -> Reply:
        request = _within(await _with_pictures(self.request, self.model), self.model, self._policy)
        with SilenceWatch(self._policy.on_silence) as watch:

            def on_part(delta: Delta) -> Awaitable[None] | None:
                watch.heard()
                return self._on_delta(delta) if self._on_delta is not None else None

            return await think(self.model, request, on_part, connections=self._connections)


async def _with_pictures(request: ThinkRequest, model: ResolvedModel) -> ThinkRequest:
    """As this model is sent it; what is stored and logged only names the pictures."""
    if request.with_pictures is None:
        return request
    return replace(request, messages=await asyncio.to_thread(request.with_pictures, request.messages, model))


def _within(request: ThinkRequest, model: ResolvedModel, policy: RetryPolicy) -> ThinkRequest:
    limits = [request.timeout_seconds, model.timeout_seconds, policy.remaining()]
    least = min(limit for limit in limits if limit is not None)
    return replace(request, timeout_seconds=max(0.0, least)) if least < math.inf else request
