"""What the library has to know about a model that it cannot tell from its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.resolved import ResolvedModel

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile


def profile_over(model: ResolvedModel, known: Mapping[str, object]) -> ModelProfile:
    """What is laid over `known`, the library's own profile of the model."""
    over: dict[str, Any] = {}
    if model.context_window is not None:
        over["context_window"] = model.context_window
    if (thinks := _thinks(model)) is not None:
        over["supports_thinking"] = thinks
        over["thinking_always_enabled"] = thinks and bool(known.get("thinking_always_enabled"))
    if model.api.startswith("openai"):
        over |= _openai(model, known)
    elif model.api == "anthropic-messages" and model.base_url is not None:
        over["supports_auto_cache"] = False
    return over  # type: ignore[return-value]


def _thinks(model: ResolvedModel) -> bool | None:
    """The settings decide; a name that is new at a provider we know is tried, so that a level is not lost."""
    if model.reasoning is not None:
        return model.reasoning
    if model.provider not in BUILT_IN or model.base_url is not None:
        return None
    from pydantic_ai.models import known_model_names

    return None if f"{model.provider}:{model.id}" in known_model_names() else True


def _openai(model: ResolvedModel, known: Mapping[str, object]) -> dict[str, Any]:
    """A stream without a finish reason was cut. Imitators get only what all of them understand."""
    over: dict[str, Any] = {
        "openai_chat_streaming_requires_finish_reason": model.compat.get("sendsFinishReason", True)
    }
    if is_openai(model):
        return over
    field = model.compat.get("maxTokensField", "max_tokens")
    reasons = bool(known.get("openai_supports_reasoning"))
    return over | {
        "openai_supports_strict_tool_definition": model.compat.get("supportsStrictMode", False),
        "openai_chat_supports_multiple_system_messages": False,
        "openai_chat_supports_max_completion_tokens": reasons or field == "max_completion_tokens",
    }


def is_openai(model: ResolvedModel) -> bool:
    """OpenAI itself, or a proxy that the settings call by its name."""
    return model.provider == "openai" or model.base_url is None
