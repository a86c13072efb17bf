"""A model that can be asked: where it is, how to speak to it, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, Protocol, get_args

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Api = Literal["openai-completions", "openai-responses", "anthropic-messages", "google"]
APIS: tuple[Api, ...] = get_args(Api)

_MILLION = Decimal(1_000_000)
_SHORTEST_SECRET = 6
IDLE_SECONDS = 120.0
LONGEST_SECONDS = 3600.0
"""A provider that drips for ever is given up then, whatever else is set."""


class StandIn(Protocol):
    """A model without a provider, such as a script. `open` is called once for each request."""

    def open(self) -> Model: ...


@dataclass(frozen=True)
class TokenRefresh:
    """Where another access token is got, and what for."""

    url: str
    token: str = field(repr=False)
    client_id: str = ""


@dataclass(frozen=True)
class Key:
    """A provider's key, never shown, and the name of the place it comes from."""

    text: str = field(repr=False)
    source: str
    profile: str = ""
    """The auth profile that it is; empty for one that is none."""
    bearer: bool = False
    """Whether it is sent as a token, not as the provider's keys are."""
    expires_at: int | None = None
    """Milliseconds."""
    refresh: TokenRefresh | None = None


@dataclass(frozen=True)
class Usage:
    """The tokens of one request. `input_tokens` includes those read from and written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    measured: bool = True
    """False when the provider did not say; the numbers are then zero."""


@dataclass(frozen=True)
class Prices:
    """Dollars for a million tokens of each kind."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)

    def cost(self, usage: Usage) -> Decimal:
        fresh = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        total = (
            self.input * fresh
            + self.output * usage.output_tokens
            + self.cache_read * usage.cache_read_tokens
            + self.cache_write * usage.cache_write_tokens
        )
        return total / _MILLION


@dataclass(frozen=True)
class ResolvedModel:
    """Everything needed to ask one model, as the settings say it. `None` means that they do not say."""

    provider: str
    id: str
    api: Api = "openai-completions"
    base_url: str | None = None
    key: Key | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    context_window: int | None = None
    max_tokens: int | None = None
    prices: Prices | None = None
    reasoning: bool | None = None
    timeout_seconds: float | None = None
    """Seconds of one whole request; never more than LONGEST_SECONDS."""
    idle_seconds: float = IDLE_SECONDS
    """Seconds without a byte from the provider after which a request is given up."""
    params: Mapping[str, object] = field(default_factory=dict, repr=False)
    compat: Mapping[str, object] = field(default_factory=dict)
    input: tuple[str, ...] | None = None
    """What it takes, such as text and image; ask `vision.sees`."""
    streaming: bool = True
    """Whether answers are asked for piece by piece."""
    stand_in: StandIn | None = None
    counts_tokens: bool = True
    """False for what uses none, such as a rehearsal."""

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.id}"

    @property
    def profile(self) -> str:
        """The auth profile whose key it is asked with; empty when there is none."""
        return self.key.profile if self.key else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not reach a person, a log or a transcript; longest first."""
        found = {value for _, value in self.headers} | ({self.key.text} if self.key else set())
        if self.key and self.key.refresh:
            found.add(self.key.refresh.token)
        return tuple(sorted((text for text in found if len(text) >= _SHORTEST_SECRET), key=len, reverse=True))
