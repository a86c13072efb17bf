"""Whoever looks on while a model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from colleague.agent.models.delta import Delta
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.resolved import ResolvedModel


class TryWatch(Protocol):
    """Follows one try of a request. None of its methods raises or waits."""

    def delta(self, delta: Delta) -> None: ...
    def answered(self, reply: Reply) -> None: ...
    def failed(self, error: BaseException) -> None: ...


class RequestWatch(Protocol):
    """Follows a request through all its tries."""

    def begin(self, model: ResolvedModel) -> TryWatch | None:
        """Called before each try, with the model that is asked; None when nobody follows it."""
        ...
