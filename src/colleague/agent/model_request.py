"""Asking the models of a session for an answer, and telling what is tried while it is tried."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from colleague import activity
from colleague.agent.budget_check import check_budget
from colleague.agent.exits import Failed
from colleague.agent.key_rests import StoredKeyRests
from colleague.agent.models.failover import AllFailed, think_with_failover
from colleague.agent.models.failure import PERMANENT, ModelFailure
from colleague.agent.models.retry import RetryPolicy
from colleague.clock import iso
from colleague.store.ids import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from colleague.agent.models.delta import OnDelta
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.models.resolved import ResolvedModel
    from colleague.agent.models.retry import Wait
    from colleague.agent.session import Session

log = logging.getLogger(__name__)


async def ask_models(
    session: Session, request: ThinkRequest, on_delta: OnDelta | None, remaining: Callable[[], float]
) -> Reply:
    """The answer of the first model that gives one. Raises ModelFailure, or Failed without budget.

    `remaining`: the seconds that are left."""
    told = _ModelNews(session)
    policy = RetryPolicy(
        remaining,
        told.wait,
        on_silence=told.silence,
        on_failed=session.conversation.note_failed_request,
        before_retry=lambda: check_budget(session),
    )
    reply = await think_with_failover(
        session.run_spec.routes,
        request,
        on_delta,
        policy,
        StoredKeyRests(session.conversation.database, session.connections),
        connections=session.connections,
    )
    await session.conversation.clear_trouble()
    return reply


def failed_turn(failure: ModelFailure) -> Failed:
    """How a run ends, or pauses, that no model answers."""
    reasons = (
        {each.reason for each in failure.failures} if isinstance(failure, AllFailed) else {failure.reason}
    )
    return Failed(failure.sentence, retry=not reasons <= PERMANENT, kind=failure.reason)


class _ModelNews:
    """Tells watchers, the log and other processes what fails, and what is tried next."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._model: ResolvedModel = session.run_spec.routes.first

    async def wait(self, wait: Wait) -> None:
        """What was told of the answer so far is void."""
        session, private = self._session, self._session.run_spec.private
        error, text = private.redact(wait.failure.message), private.redact(wait.failure.brief)
        in_ms = round(wait.seconds * 1000)
        then = wait.then or f"asks its model again in {wait.seconds:.1f} s"
        log.warning("run %s %s: %s", short(session.run_id), then, text)
        trouble = await session.conversation.note_trouble(
            f"{text}; {wait.then}" if wait.then else text, in_ms
        )
        failed, self._model = self._model, wait.next_model or self._model
        session.tell(
            "message_retry",
            model=failed.name,
            profile=failed.profile,
            reason=wait.failure.reason,
            error=error,
            text=text,
            attempt=wait.attempt,
            in_ms=in_ms,
            then=wait.then,
            next_model=self._model.name,
            next_profile=self._model.profile,
            next_try_at=iso(trouble.next_try_at) if trouble else None,
        )

    def silence(self, seconds: float) -> None:
        """For watchers only: a slow model is no trouble yet."""
        session, model = self._session, self._model.name
        text = f"{model} has said nothing for {seconds:.0f} s"
        activity.tell("slow model", f"run {short(session.run_id)}: {text}", run=session.run_id, model=model)
        session.tell("message_slow", model=model, seconds=seconds, text=text)
