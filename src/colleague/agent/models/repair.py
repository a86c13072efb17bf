"""Repairing a transcript that a provider refuses because its messages do not follow each other as they must.

Our own transcripts are in order; what imported, cut or forked ones lack is said in plain words instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

LOST = "No result of this call is known."
GO_ON = "Go on."
BEGIN = "The conversation begins here."
_RESULTS = ("tool-return", "retry-prompt")


def repaired(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Requests and answers in turn, beginning and ending with a request; every call with its result."""
    from pydantic_ai.messages import ModelRequest

    made: list[ModelMessage] = []
    for message in _merged(messages):
        before = made[-1] if made else None
        if message.kind == "request":
            calls = before.tool_calls if before is not None and before.kind == "response" else []
            made.append(_with_results(message, calls))
        elif before is None:
            made += [ModelRequest.user_text_prompt(BEGIN), message]
        else:
            made.append(message)
    last = made[-1] if made else None
    if last is None:
        return [ModelRequest.user_text_prompt(GO_ON)]
    if last.kind == "response":
        missing = _with_results(ModelRequest(parts=[]), last.tool_calls)
        made.append(missing if missing.parts else ModelRequest.user_text_prompt(GO_ON))
    return made


def _merged(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """Without empty messages; those of the same side in a row are one."""
    made: list[ModelMessage] = []
    for message in messages:
        if not message.parts:
            continue
        if made and made[-1].kind == message.kind:
            before: Any = made[-1]
            made[-1] = replace(before, parts=[*before.parts, *message.parts])
        else:
            made.append(message)
    return made


def _with_results(request: ModelRequest, calls: Sequence[Any]) -> ModelRequest:
    """The results of the calls before it come first, one for each; any other result is told as text."""
    from pydantic_ai.messages import ToolReturnPart

    wanted = {call.tool_call_id: call for call in calls}
    given: dict[str, Any] = {}
    others: list[Any] = []
    for part in request.parts:
        is_result = part.part_kind in _RESULTS and getattr(part, "tool_name", None) is not None
        call_id = getattr(part, "tool_call_id", None)
        if is_result and call_id in wanted and call_id not in given:
            given[str(call_id)] = part
        else:
            others.append(_as_user_prompt(part) if is_result else part)
    results = [
        given.get(call_id) or ToolReturnPart(call.tool_name, LOST, tool_call_id=call_id)
        for call_id, call in wanted.items()
    ]
    return replace(request, parts=[*results, *others])


def _as_user_prompt(part: Any) -> Any:
    from pydantic_ai.messages import UserPromptPart

    text = part.model_response_str() if part.part_kind == "tool-return" else part.model_response()
    return UserPromptPart(content=f"{part.tool_name}:\n{text}")


def needs_repair(messages: Sequence[ModelMessage]) -> bool:
    """Whether a repaired transcript would be another one."""
    made = repaired(messages)
    return [_shape(each) for each in made] != [_shape(each) for each in messages]


def _shape(message: ModelRequest | ModelResponse) -> tuple[str, list[tuple[str, str]]]:
    parts: Sequence[Any] = message.parts
    return message.kind, [(part.part_kind, getattr(part, "tool_call_id", "")) for part in parts]
