"""The parameters of a request, as the model library takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from colleague.agent.models.late_tail import with_late_tail
from colleague.agent.models.messages import with_safe_names
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import LONGEST_SECONDS, ResolvedModel
from colleague.agent.models.thinking import Level, choose_thinking
from colleague.agent.models.tool_name import ProviderToolNames, safe_name
from colleague.agent.models.tool_schema import provider_schema

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

_PARAMS = {
    "temperature": "temperature",
    "topP": "top_p",
    "top_p": "top_p",
    "topK": "top_k",
    "top_k": "top_k",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "presence_penalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "frequency_penalty": "frequency_penalty",
    "parallelToolCalls": "parallel_tool_calls",
    "parallel_tool_calls": "parallel_tool_calls",
    "stop": "stop_sequences",
    "serviceTier": "service_tier",
    "service_tier": "service_tier",
}


@dataclass(frozen=True)
class ProviderRequest:
    """One request, ready for the library."""

    client: Model
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    names: ProviderToolNames
    thinking: Level


def provider_request(model: ResolvedModel, client: Model, request: ThinkRequest) -> ProviderRequest:
    if model.stand_in is None:
        request = with_late_tail(request, marked=model.api == "anthropic-messages")
    max_tokens = request.max_tokens or model.max_tokens
    choice = choose_thinking(request.thinking, model.api, client.profile, max_tokens)
    settings = _settings(model, request, max_tokens) | dict(choice.settings)
    return ProviderRequest(
        client,
        with_safe_names(request.messages),
        settings,  # type: ignore[arg-type]
        _parameters(model, request),
        ProviderToolNames.of(tool.name for tool in request.tools),
        choice.level,
    )


def _parameters(model: ResolvedModel, request: ThinkRequest) -> ModelRequestParameters:
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.models import ModelRequestParameters

    parts = [InstructionPart(content=request.system)] if request.system else []
    if request.system_tail:
        parts.append(InstructionPart(content=request.system_tail, dynamic=True))
    tools = [_tool(model, tool) for tool in request.tools]
    return ModelRequestParameters(function_tools=tools, instruction_parts=parts or None)


def _tool(model: ResolvedModel, tool: ToolDefinition) -> ToolDefinition:
    schema = tool.parameters_json_schema
    if model.stand_in is None:
        schema = provider_schema(model.api, schema)
    return replace(tool, name=safe_name(tool.name), parameters_json_schema=schema)


def _settings(model: ResolvedModel, request: ThinkRequest, max_tokens: int | None) -> dict[str, Any]:
    """The library retries nothing: waiting is `think_with_retries`'s, which tells about it."""
    idle = model.idle_seconds if request.stall_seconds is None else request.stall_seconds
    limit = model.timeout_seconds if request.timeout_seconds is None else request.timeout_seconds
    longest = LONGEST_SECONDS if limit is None else min(limit, LONGEST_SECONDS)
    settings: dict[str, Any] = {"request_timeout": longest}
    if model.stand_in is None:  # whoever answers in one piece is silent until then
        settings |= {"max_retries": 0, "cache": True, "timeout": idle if model.streaming else longest}
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    if headers := _headers(model):
        settings["extra_headers"] = headers
    if model.api == "openai-responses":
        settings["openai_store"] = False
    return settings | _params(model)


_OAUTH_BETA = {"anthropic-beta": "oauth-2025-04-20"}


def _headers(model: ResolvedModel) -> dict[str, str]:
    return {**_key_headers(model), **dict(model.headers)}


def _key_headers(model: ResolvedModel) -> dict[str, str]:
    """Servers that imitate Anthropic look for the key where it used to be; Google takes a token beside it."""
    if model.key is None:
        return {}
    anthropic = model.api == "anthropic-messages"
    if model.key.bearer:
        google = {"Authorization": f"Bearer {model.key.text}"} if model.api == "google" else {}
        return _OAUTH_BETA if anthropic else google
    return {"x-api-key": model.key.text} if anthropic and model.base_url is not None else {}


def _params(model: ResolvedModel) -> dict[str, Any]:
    """Parameters the library has a name for; the others go into the body as they are."""
    known = {_PARAMS[key]: value for key, value in model.params.items() if key in _PARAMS}
    others = {key: value for key, value in model.params.items() if key not in _PARAMS}
    return known | ({"extra_body": others} if others else {})
