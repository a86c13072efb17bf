"""A level, in the terms of each provider, by the library's own descriptions of real models."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from colleague.agent.models.context_size import context_window
from colleague.agent.models.profile import profile_over
from colleague.agent.models.reply import cost_of
from colleague.agent.models.resolved import Api, ResolvedModel
from colleague.agent.models.thinking import Level, Thinking, choose_thinking

VENDORS: dict[Api, tuple[str, str]] = {
    "anthropic-messages": ("anthropic", "AnthropicProvider"),
    "google": ("google", "GoogleProvider"),
    "openai-responses": ("openai", "OpenAIProvider"),
}


def provider_of(api: Api) -> Any:
    """Imported by the tests that need it, not by whoever collects them."""
    vendor, name = VENDORS[api]
    return getattr(import_module(f"pydantic_ai.providers.{vendor}"), name)


def chosen(api: Api, name: str, level: Level, *, max_tokens: int | None = None) -> tuple[Level, object]:
    vendor = VENDORS[api][0]
    model = ResolvedModel(vendor, name, api)
    known = provider_of(api).model_profile(name) or {}
    profile = {**known, **profile_over(model, known)}
    choice = choose_thinking(Thinking(level, 8192 if level != "off" else 0), api, profile, max_tokens)
    return choice.level, dict(choice.settings)


def budget(tokens: int) -> dict[str, object]:
    return {"anthropic_thinking": {"type": "enabled", "budget_tokens": tokens}}


@pytest.mark.parametrize(
    ("api", "name", "level", "expected"),
    [
        ("anthropic-messages", "claude-sonnet-4-5", "medium", ("medium", budget(8192))),
        ("anthropic-messages", "claude-sonnet-4-5", "off", ("off", {"thinking": False})),
        ("anthropic-messages", "claude-opus-4-7", "medium", ("medium", {"thinking": "medium"})),
        ("anthropic-messages", "claude-of-tomorrow", "medium", ("medium", budget(8192))),
        ("openai-responses", "gpt-5-mini", "medium", ("medium", {"thinking": "medium"})),
        ("openai-responses", "gpt-5-mini", "off", ("off", {"thinking": False})),
        ("openai-responses", "gpt-4o", "high", ("off", {})),
        ("openai-responses", "gpt-99", "high", ("high", {"thinking": "high"})),
        ("openai-responses", "gpt-99", "off", ("off", {})),
        ("google", "gemini-3-pro-preview", "low", ("low", {"thinking": "low"})),
        ("google", "gemini-2.0-flash", "low", ("off", {})),
    ],
)
def test_what_is_sent(api: Api, name: str, level: Level, expected: tuple[str, object]) -> None:
    assert chosen(api, name, level) == expected


@pytest.mark.parametrize("max_tokens", [1, 1024, 2047, 2048, 4096, 9215, 9216, 100_000])
def test_a_budget_leaves_room_to_answer(max_tokens: int) -> None:
    level, sent = chosen("anthropic-messages", "claude-sonnet-4-5", "medium", max_tokens=max_tokens)
    if max_tokens < 2048:
        assert (level, sent) == ("off", {"thinking": False})
    else:
        assert sent == budget(min(8192, max_tokens - 1024))


def answer(model: str, provider: str, url: str) -> ModelResponse:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=100_000)
    return ModelResponse(
        [TextPart("Hi.")], usage=usage, model_name=model, provider_name=provider, provider_url=url
    )


def test_list_prices_count_only_at_the_providers_own_address() -> None:
    response = answer("gpt-5-mini", "openai", "https://api.openai.com/v1/")
    cost = cost_of(ResolvedModel("openai", "gpt-5-mini", "openai-responses"), response)
    assert cost is not None
    assert 0 < cost < 10
    assert cost_of(ResolvedModel("openai", "gpt-5-mini", base_url="http://127.0.0.1/v1"), response) is None
    unheard_of = answer("gpt-99", "openai", "https://api.openai.com/v1/")
    assert cost_of(ResolvedModel("openai", "gpt-99", "openai-responses"), unheard_of) is None


def test_the_window_of_a_known_model_is_known() -> None:
    assert context_window(ResolvedModel("anthropic", "claude-sonnet-4-5", "anthropic-messages")) == 200_000
    assert context_window(ResolvedModel("anthropic", "claude-sonnet-4-5", context_window=5)) == 5
    assert context_window(ResolvedModel("openai", "gpt-99")) is None
    assert context_window(ResolvedModel("local", "gpt-5-mini", base_url="http://127.0.0.1/v1")) is None
