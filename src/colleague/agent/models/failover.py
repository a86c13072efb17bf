"""Asking several models, each with several keys, until one answers.

Another key of the same model comes first, then the models that it falls back to. Keys that failed rest for a
while, and are passed over as long as there is another way. A conversation that is too long is nobody's
failure: it is passed on to whoever can shorten it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import OnDelta
from colleague.agent.models.failure import KEYS_OWN, MODELS_OWN, ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.retry import ModelTries, RetryPolicy, Wait, think_with_retries
from colleague.clock import iso

_LOOK = "see the profiles with: colleague model auth list"


@dataclass(frozen=True)
class Cooldown:
    """Until when a model with its key is passed over, in milliseconds, and why."""

    until: int
    reason: str


class KeyRests(Protocol):
    """Remembers which keys failed, for every run and every process."""

    async def rests(self, models: Sequence[ResolvedModel]) -> list[Cooldown | None]:
        """For each of them; None when it is free."""
        ...

    async def note_failed(self, model: ResolvedModel, failure: ModelFailure) -> Cooldown | None:
        """It is given up for now."""
        ...

    async def note_used(self, model: ResolvedModel) -> None:
        """It has answered."""
        ...


class AllFailed(ModelFailure):
    """No model answered. `failures` are those of the models that were given up, in order."""

    def __init__(self, message: str, failures: Sequence[ModelFailure], *, hint: str) -> None:
        last = failures[-1]
        super().__init__(last.reason, message, hint=hint, retry_after=last.retry_after, status=last.status)
        self.failures = tuple(failures)


async def think_with_failover(
    routes: Routes,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    policy: RetryPolicy,
    rests: KeyRests,
    *,
    connections: Connections | None = None,
) -> Reply:
    """Asks one model after another. Raises ModelFailure, or AllFailed when there was more than one way."""
    if len(routes.models) == 1 and not routes.skipped:
        return await _ask_only(routes.first, request, on_delta, policy, rests, connections)
    return await _Failover(routes, request, on_delta, policy, rests, connections).answer()


async def _ask_only(
    model: ResolvedModel,
    request: ThinkRequest,
    on_delta: OnDelta | None,
    policy: RetryPolicy,
    rests: KeyRests,
    connections: Connections | None,
) -> Reply:
    """There is nowhere else to go: its rest is not kept, and what passes is waited for."""
    try:
        reply = await think_with_retries(model, request, on_delta, policy, connections=connections)
    except ModelFailure as failure:
        if failure.reason not in ("context_overflow", *MODELS_OWN):
            await rests.note_failed(model, failure)
        raise
    await rests.note_used(model)
    return reply


class _Failover:
    """One answer that is asked for in several ways."""

    def __init__(
        self,
        routes: Routes,
        request: ThinkRequest,
        on_delta: OnDelta | None,
        policy: RetryPolicy,
        rests: KeyRests,
        connections: Connections | None,
    ) -> None:
        self._routes, self._request, self._on_delta = routes, request, on_delta
        self._policy, self._rests, self._connections = policy, rests, connections
        self._failed: list[tuple[ResolvedModel, ModelFailure]] = []

    async def answer(self) -> Reply:
        ways = await self._free()
        while ways:
            model, ways = ways[0], ways[1:]
            try:
                reply = await self._ask(model)
            except ModelFailure as failure:
                ways = await self._after(model, failure, ways)
            else:
                await self._rests.note_used(model)
                return reply
        raise await self._exhausted()

    async def _free(self) -> list[ResolvedModel]:
        """Those that do not rest. If all do, the one that is free first is tried once: people mend keys."""
        models = self._routes.models
        rests = await self._rests.rests(models)
        free = [model for model, rest in zip(models, rests, strict=True) if rest is None]
        soonest = min(zip(models, rests, strict=True), key=lambda each: each[1].until if each[1] else 0)
        return free or [soonest[0]]

    async def _ask(self, model: ResolvedModel) -> Reply:
        tries = ModelTries(model, self._request, self._on_delta, self._policy, self._connections, quick=True)
        try:
            return await tries.answer()
        except ModelFailure as failure:
            if failure.reason == "role_ordering":  # what was repaired once stays so
                self._request = replace(self._request, messages=tries.request.messages)
            raise

    async def _after(
        self, model: ResolvedModel, failure: ModelFailure, ways: Sequence[ResolvedModel]
    ) -> list[ResolvedModel]:
        """What is left to try. Raises the failure when trying another is no cure."""
        if failure.reason == "context_overflow":
            raise failure
        self._failed.append((model, failure))
        if failure.reason not in MODELS_OWN:
            await self._rests.note_failed(model, failure)
        left = [each for each in ways if _may_help(each, model, failure)]
        if not left or self._policy.remaining() <= 0:
            return []
        tries = len(self._failed)
        await self._policy.tell(Wait(failure, 0.0, tries, f"{route_name(left[0])} is asked", left[0]))
        await self._policy.check()
        return left

    async def _exhausted(self) -> AllFailed:
        models = self._routes.models
        rests = await self._rests.rests(models)
        lines = [
            f"{number}. {_with_profile(model, failure)}"
            for number, (model, failure) in enumerate(self._failed, 1)
        ]
        lines += [f"not asked: {sentence}" for sentence in self._routes.skipped]
        asked = {id(model) for model, _ in self._failed}
        pairs = list(zip(models, rests, strict=True))
        lines += [
            f"not asked: {route_name(model)}, which rests until {iso(rest.until)} ({rest.reason})"
            for model, rest in pairs
            if rest is not None and id(model) not in asked
        ]
        count = len(self._failed)
        message = f"no model answered, {count} asked: " + "; ".join(lines)
        soonest = min(
            ((rest.until, model) for model, rest in pairs if rest is not None),
            key=lambda each: each[0],
            default=None,
        )
        if soonest is not None:
            message += f"; {soonest[1].profile or soonest[1].name} is free again at {iso(soonest[0])}"
        failures = [failure for _, failure in self._failed]
        return AllFailed(
            message, failures, hint=f"{failures[-1].hint}; {_LOOK}" if failures[-1].hint else _LOOK
        )


def route_name(model: ResolvedModel) -> str:
    """A model and the key it is asked with, for people."""
    return f"{model.name} with {model.profile}" if model.profile else model.name


def _with_profile(model: ResolvedModel, failure: ModelFailure) -> str:
    told = f"{model.name}:"
    if model.profile and failure.message.startswith(told):
        return f"{route_name(model)}:{failure.message.removeprefix(told)}"
    return failure.message


def _may_help(other: ResolvedModel, failed: ResolvedModel, failure: ModelFailure) -> bool:
    """Whether it is worth asking, after what another model, or another key, has failed with."""
    if failure.reason in KEYS_OWN and other.profile and other.profile == failed.profile:
        return False
    return not (failure.reason in MODELS_OWN and other.name == failed.name)
