"""From an exception of the model library to a ModelFailure."""

from __future__ import annotations

import re

from colleague.agent.models.error_text import could_not_be_sent, provider_text, seconds_to_wait
from colleague.agent.models.failure import WHAT, ModelFailure, Reason
from colleague.agent.models.overflow import says_too_long
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.role_ordering import says_wrong_order
from colleague.redaction import redact

BRIEF = 120
_REFUSALS = frozenset((None, 400, 413, 422, 429, 500))
_BROKEN: frozenset[Reason] = frozenset(("connection", "server", "overloaded", "rate_limit", "unknown"))
_IMAGE_SIZE = re.compile(
    r"image (?:exceeds|dimensions exceed|is too large)|image.{0,40}too large|image_too_large", re.IGNORECASE
)
_OUT_OF_CREDIT = re.compile(
    r"insufficient[ _](?:balance|credits?|funds|quota)|credit balance|out of credits|payment required"
    r"|billing (?:hard )?limit",
    re.IGNORECASE,
)


def failure_of(model: ResolvedModel, error: Exception, *, streamed: bool = False) -> ModelFailure:
    """`streamed`: some of the answer was already told when it broke."""
    if isinstance(error, ModelFailure):
        return error
    words = provider_text(error, lambda text: redact(text, model.secrets))
    status: int | None = getattr(error, "status_code", None)
    reason = _reason(error, status, words)
    if streamed and reason in _BROKEN:
        reason = "cut"
    return ModelFailure(
        reason,
        _sentence(model, reason, status, words),
        hint=cure(model, reason),
        retry_after=seconds_to_wait(error, words),
        status=status,
        streamed=streamed,
        brief=_brief(model, reason, status, words),
    )


def cut_off(model: ResolvedModel, what: str, *, streamed: bool) -> ModelFailure:
    """The answer ended without an end."""
    reason: Reason = "cut" if streamed else "server"
    message = _sentence(model, reason, None, what)
    return ModelFailure(reason, message, hint=cure(model, reason), streamed=streamed)


def _sentence(model: ResolvedModel, reason: Reason, status: int | None, words: str) -> str:
    code = f" ({status})" if status else ""
    return f"{model.name}: {WHAT[reason]}{code}" + (f": {words}" if words else "")


def _brief(model: ResolvedModel, reason: Reason, status: int | None, words: str) -> str:
    """For the one line that is said at every try."""
    words = words if len(words) <= BRIEF else f"{words[:BRIEF]}..."
    if status is None:
        return _sentence(model, reason, status, words)
    return f"{model.name} answers {status} ({words or WHAT[reason]})"


def _reason(error: Exception, status: int | None, words: str) -> Reason:
    if status == 413 or (status in _REFUSALS and says_too_long(words)):
        return "context_overflow"
    if status is not None and status < 500 and _OUT_OF_CREDIT.search(words):
        return "billing"
    if status in (None, 400, 422) and says_wrong_order(words):
        return "role_ordering"
    if status in (400, 422) and _IMAGE_SIZE.search(words):
        return "image_size"
    if status == 408:
        return "timeout"
    return "format" if could_not_be_sent(error) else _by_kind(error)


def _by_kind(error: Exception) -> Reason:
    from pydantic_ai import exceptions as kinds

    table: tuple[tuple[type[Exception], Reason], ...] = (
        (kinds.ModelContextWindowExceededError, "context_overflow"),
        (kinds.ModelAuthenticationError, "auth"),
        (kinds.ModelNotFoundError, "not_found"),
        (kinds.ModelQuotaExceededError, "billing"),
        (kinds.ModelRateLimitError, "rate_limit"),
        (kinds.ModelUnavailableError, "overloaded"),
        (kinds.ModelServerError, "server"),
        (kinds.ModelRequestTimeout, "timeout"),
        (kinds.ModelTimeoutError, _by_phase(error)),
        (kinds.ModelConnectionError, "connection"),
        (kinds.ModelRequestRejectedError, "format"),
        (kinds.UserError, "format"),
    )
    return next((reason for kind, reason in table if isinstance(error, kind)), "unknown")


def _by_phase(error: Exception) -> Reason:
    """A timeout while connecting means that nothing was sent; one while reading, that nothing came."""
    return "connection" if getattr(error, "phase", None) in ("pool", "connect") else "stalled"


def cure(model: ResolvedModel, reason: Reason) -> str:
    """The next thing to do."""
    settings = f"models.providers.{model.provider}"
    key = model.key.source if model.key else f"{settings}.apiKey"
    where = model.base_url or "the provider"
    others = "add a model to agents.defaults.model.fallbacks"
    cures: dict[Reason, str] = {
        "auth": f"check the key in {key}, and that it may use {model.id}",
        "billing": "add credit to the account, or name another model in agents.defaults.model",
        "rate_limit": f"wait a while, or {others}",
        "overloaded": f"wait a while, or {others}",
        "timeout": f"try again, or raise {settings}.timeoutSeconds",
        "stalled": f"try again, or raise {settings}.idleTimeoutSeconds",
        "connection": f"check the network and that {where} is up",
        "context_overflow": "start a new session, or name a model with a larger context window",
        "role_ordering": "start a new session with /new",
        "image_size": "send a smaller picture",
        "format": f"check {settings} in colleague.json: baseUrl, api, headers, params",
        "not_found": f"check the spelling of {model.id}" + (f" and {where}" if model.base_url else ""),
        "server": f"try again; if it stays, ask whoever runs {where}",
        "cut": "try again",
        "unknown": f"check that {where} speaks {model.api}",
    }
    return cures[reason]
