"""Model providers that plugins bring, of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from colleague.agent.models.resolved import ResolvedModel

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class ModelProvider(Protocol):
    """Models of one provider, as pydantic-ai has them."""

    def model(self, name: str) -> Model:
        """A model to make one request with."""
        ...


@dataclass(frozen=True)
class ProvidedModel:
    """One model of a plugin's provider."""

    provider: ModelProvider
    id: str

    def open(self) -> Model:
        return self.provider.model(self.id)


_provided: dict[str, ModelProvider] = {}


@contextlib.contextmanager
def providing(providers: Mapping[str, ModelProvider]) -> Iterator[None]:
    """While the block lasts, these providers have models."""
    _provided.update(providers)
    try:
        yield
    finally:
        for name in providers:
            _provided.pop(name, None)


def provided_model(provider: str, model: str) -> ResolvedModel | None:
    """A model of a plugin; None when no plugin has a provider of that name."""
    found = _provided.get(provider)
    return ResolvedModel(provider, model, stand_in=ProvidedModel(found, model)) if found else None
