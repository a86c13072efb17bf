"""Requests of a server to use a model of ours (*sampling*): read, limited, and answered within a call.

Tools are never offered, and nothing of ours is told: the model sees what the server sent, and no more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.mcp.input_rounds import CannotAnswer

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData

    from colleague.config.mcp import McpSampling
    from colleague.mcp.call import McpCall
    from colleague.mcp.log import ServerLog

_MOST_CHARACTERS = 200_000


class SamplingRefused(Exception):
    """Why a server's request is not answered, in words for the server."""


@dataclass(frozen=True)
class SamplingRequest:
    """What a server asks a model. `number` counts within the call."""

    server: str
    tool: str
    number: int
    messages: tuple[tuple[str, str], ...]
    """Each the role, user or assistant, and the text."""
    system: str
    max_tokens: int


@dataclass(frozen=True)
class SamplingAnswer:
    """What the model said."""

    text: str
    model: str
    is_cut: bool = False


OnSampling = Callable[[SamplingRequest], Awaitable[SamplingAnswer]]


async def sample(
    call: McpCall, params: CreateMessageRequestParams, limits: McpSampling
) -> CreateMessageResult:
    """Raises SamplingRefused."""
    from mcp_types import CreateMessageResult, TextContent

    asked = _read(call, params, limits)
    if call.on_sampling is None:
        raise SamplingRefused("there is no model for this call")
    call.samples += 1
    call.sampling += 1
    try:
        answer = await call.on_sampling(asked)
    finally:
        call.sampling -= 1
    content = TextContent(type="text", text=answer.text)
    reason = "maxTokens" if answer.is_cut else "endTurn"
    return CreateMessageResult(role="assistant", content=content, model=answer.model, stop_reason=reason)


async def sample_or_refuse(
    call: McpCall | None, params: CreateMessageRequestParams, limits: McpSampling, log: ServerLog
) -> CreateMessageResult | ErrorData:
    """For a request that came over the connection (before 2026-07-28)."""
    from mcp_types import INVALID_REQUEST, ErrorData

    try:
        if call is None:
            raise SamplingRefused("a model is asked only while exactly one call is under way")
        return await sample(call, params, limits)
    except SamplingRefused as error:
        log.say("warning", f"its request to a model was refused: {error}")
        return ErrorData(code=INVALID_REQUEST, message=str(error))


async def answer_samples(call: McpCall, document: dict[str, Any], limits: McpSampling) -> None:
    """For requests that came in place of an answer; see input_rounds.py. Raises CannotAnswer."""
    for key, params in document.pop("samples").items():
        try:
            answer = await sample(call, params, limits)
        except SamplingRefused as error:
            text = f"the tool did not finish: its request to a model was refused, {error}"
            raise CannotAnswer(text) from None
        document["answers"][key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)


def _read(call: McpCall, params: CreateMessageRequestParams, limits: McpSampling) -> SamplingRequest:
    if not limits.allow:
        raise SamplingRefused("the settings do not let this server use a model")
    if call.abandoned:
        raise SamplingRefused("nobody waits for this call any more")
    if call.samples >= limits.max_requests:
        raise SamplingRefused(f"a call may ask a model {limits.max_requests} times")
    if params.tools or params.tool_choice:
        raise SamplingRefused("tools are not offered to a model that a server asks")
    messages = tuple((each.role, _text(each.content)) for each in params.messages)
    if not messages or messages[-1][0] != "user":
        raise SamplingRefused("the last message must be the user's")
    if sum(len(text) for _, text in messages) + len(params.system_prompt or "") > _MOST_CHARACTERS:
        raise SamplingRefused(f"the messages have more than {_MOST_CHARACTERS:,} characters")
    most = min(params.max_tokens, limits.max_tokens)
    return SamplingRequest(
        call.server, call.tool, call.samples + 1, messages, params.system_prompt or "", max(1, most)
    )


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    if any(each.type != "text" for each in parts):
        raise SamplingRefused("only text is shown to the model")
    return "\n".join(each.text for each in parts)
