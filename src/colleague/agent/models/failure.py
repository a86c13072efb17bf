"""Why a model did not answer, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from colleague.agent.models.resolved import Usage
from colleague.errors import ColleagueError

Reason = Literal[
    "auth",
    "billing",
    "rate_limit",
    "overloaded",
    "timeout",
    "stalled",
    "connection",
    "context_overflow",
    "role_ordering",
    "image_size",
    "format",
    "not_found",
    "server",
    "cut",
    "unknown",
]

TRANSIENT: frozenset[Reason] = frozenset(
    ("rate_limit", "overloaded", "server", "connection", "stalled", "cut")
)
DEAR: frozenset[Reason] = frozenset(("stalled", "cut"))
MOST_DEAR = 3
"""Each costs the whole idle time, or the tokens of half an answer: what ends so, so often in a row, is given
up."""
PERMANENT: frozenset[Reason] = frozenset(("auth", "billing", "not_found"))
"""A later attempt of the run would end in the same way."""
KEYS_OWN: frozenset[Reason] = frozenset(("auth", "billing"))
"""What is wrong with a key, whatever model it is used for."""
MODELS_OWN: frozenset[Reason] = frozenset(("not_found", "format", "role_ordering", "image_size"))
"""What another key of the same provider would not change."""

WHAT: Mapping[Reason, str] = {
    "auth": "the provider does not accept the key",
    "billing": "the provider's account is out of credit",
    "rate_limit": "the provider's rate limit is reached",
    "overloaded": "the provider is overloaded",
    "timeout": "the answer took too long",
    "stalled": "the provider said nothing more",
    "connection": "the provider cannot be reached",
    "context_overflow": "the conversation is longer than the model can read",
    "role_ordering": "the provider refused the order of the messages",
    "image_size": "the provider refused a picture as too large",
    "format": "the provider refused the request",
    "not_found": "the provider does not know the model or the address",
    "server": "the provider failed",
    "cut": "the answer broke off in the middle",
    "unknown": "the provider answered something unexpected",
}

_ABOUT_THINKING = re.compile(r"thinking|reasoning|budget_tokens", re.IGNORECASE)


class ModelFailure(ColleagueError):
    """A model did not answer.

    `reason` is for programs, the message holds what the provider said without secrets, `brief` the same in a
    few words, `retry_after` the seconds it asked to wait, `streamed` whether some of the answer was already
    told, `usage` and `cost` what it had used until then, as far as the provider said so.
    """

    usage: Usage | None = None
    cost: Decimal | None = None

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        status: int | None = None,
        streamed: bool = False,
        brief: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.retry_after = retry_after
        self.status = status
        self.streamed = streamed
        self.brief = brief or message

    @property
    def can_wait(self) -> bool:
        """Whether the same request may succeed a little later. What was told of its answer is void then."""
        return self.reason in TRANSIENT

    @property
    def about_thinking(self) -> bool:
        """Whether the provider refused the thinking level; a lower one may pass."""
        return self.reason == "format" and _ABOUT_THINKING.search(self.message) is not None
