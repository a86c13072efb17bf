"""Clients of providers, kept open between requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.oauth import TokenKeeper
from colleague.agent.models.profile import is_openai, profile_over
from colleague.agent.models.resolved import Api, ResolvedModel

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_NO_KEY = "no-key-set"
EXTRAS: dict[Api, str] = {
    "openai-completions": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "google": "google",
}


@dataclass(frozen=True)
class _OpenClient:
    """An open client of a provider, and the library's class of its models."""

    provider: Any
    model_class: Any
    close: Callable[[], Awaitable[None]] | None = None
    """For a client that the library did not make, and so does not close."""

    def model(self, model: ResolvedModel) -> Model:
        profile = profile_over(model, self.provider.model_profile(model.id) or {})
        built: Model = self.model_class(model.id, provider=self.provider, profile=profile)
        return built


class Connections:
    """An async context manager, for one event loop. Leaving it closes every connection."""

    def __init__(self, tokens: TokenKeeper | None = None) -> None:
        """`tokens` renews access tokens that run out."""
        self.tokens = tokens
        self.noted_uses: dict[tuple[str, str], float] = {}
        """When the use of a profile with a model was last written down."""
        self.rested: set[tuple[str, str]] = set()
        """Profiles with a model that failed, and have not answered since."""
        self.refused_levels: set[tuple[str, str]] = set()
        """Models and thinking levels that they refused, so that they are not offered again."""
        self._stack = AsyncExitStack()
        self._clients: dict[tuple[object, ...], _OpenClient] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clients.clear()
        await self._stack.aclose()

    async def open(self, model: ResolvedModel) -> Model:
        """The library's model, ready for a request."""
        if model.stand_in is not None:
            return model.stand_in.open()
        address = (model.api, model.provider, model.base_url, model.key)
        async with self._lock:
            if address not in self._clients:
                self._clients[address] = await self._connect(model)
        return self._clients[address].model(model)

    async def _connect(self, model: ResolvedModel) -> _OpenClient:
        """In a thread: the first import of a provider's library takes a second or two."""
        try:
            client = await asyncio.to_thread(_new_client, model)
        except ImportError:
            extra = EXTRAS[model.api]
            raise ModelFailure(
                "not_found",
                f"the library for {model.name} is not installed",
                hint=f"pip install 'colleague[{extra}]'",
            ) from None
        await self._stack.enter_async_context(client.provider)
        if client.close is not None:
            self._stack.push_async_callback(client.close)
        return client


def _new_client(model: ResolvedModel) -> _OpenClient:
    key = model.key.text if model.key else _NO_KEY
    if model.api == "anthropic-messages":
        bearer = model.key is not None and model.key.bearer
        return _anthropic(key, _root(model.base_url, "/v1"), bearer=bearer)
    if model.api == "google":
        return _google(key, _root(model.base_url, "/v1", "/v1beta"))
    return _openai(key, model)


def _root(base_url: str | None, *versions: str) -> str | None:
    """These two libraries add the version themselves."""
    if base_url is None:
        return None
    address = base_url.rstrip("/")
    return next((address.removesuffix(each) for each in versions if address.endswith(each)), address)


def _anthropic(key: str, base_url: str | None, *, bearer: bool) -> _OpenClient:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    if bearer:
        from anthropic import AsyncAnthropic

        client = AsyncAnthropic(auth_token=key, api_key=None, base_url=base_url)
        return _OpenClient(AnthropicProvider(anthropic_client=client), AnthropicModel, client.close)
    return _OpenClient(AnthropicProvider(api_key=key, base_url=base_url), AnthropicModel)


def _google(key: str, base_url: str | None) -> _OpenClient:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return _OpenClient(GoogleProvider(api_key=key, base_url=base_url), GoogleModel)


def _openai(key: str, model: ResolvedModel) -> _OpenClient:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    model_class = OpenAIResponsesModel if model.api == "openai-responses" else OpenAIChatModel
    if is_openai(model) or model.base_url is None:
        return _OpenClient(OpenAIProvider(api_key=key, base_url=model.base_url), model_class)
    return _OpenClient(
        OpenAICompatibleProvider(model.provider, api_key=key, base_url=model.base_url), model_class
    )
