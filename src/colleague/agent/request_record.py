"""A request to a model as it is stored, with what it cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from colleague.store.model_requests import ANSWERED, NewModelRequest
from colleague.store.spend import Spent

if TYPE_CHECKING:
    from decimal import Decimal

    from colleague.agent.models.reply import Reply
    from colleague.agent.models.retry import FailedTry


def spent_on(reply: Reply, *, calls: int = 0) -> Spent:
    usage = reply.usage
    return Spent(
        usage.input_tokens,
        usage.output_tokens,
        float(reply.cost or 0),
        calls,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )


def answered_request(reply: Reply, session: str, turn: int) -> NewModelRequest:
    usage = reply.usage
    return NewModelRequest(
        session,
        turn,
        reply.model,
        reply.profile,
        reply.thinking,
        ANSWERED,
        None,
        usage.input_tokens if usage.measured else None,
        usage.output_tokens if usage.measured else None,
        _amount(reply.cost),
        round(reply.seconds * 1000),
    )


def failed_request(
    failed: FailedTry, session: str, turn: int, redact: Callable[[str], str]
) -> NewModelRequest:
    """Tokens and cost are those that the provider had counted until then; None where it had not said."""
    failure = failed.failure
    usage = failure.usage
    return NewModelRequest(
        session,
        turn,
        failed.model.name,
        failed.model.profile,
        failed.thinking,
        failure.reason,
        redact(failure.message),
        usage.input_tokens if usage else None,
        usage.output_tokens if usage else None,
        _amount(failure.cost),
        round(failed.seconds * 1000),
    )


def _amount(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)
