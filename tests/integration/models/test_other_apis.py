"""OpenAI responses and Google, through the real clients: enough to know that they are connected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from colleague.agent.models.delta import TextDelta, ToolCallDelta
from colleague.agent.models.resolved import Usage
from colleague.agent.models.thinking import Thinking
from tests.integration.models import openai_wire
from tests.integration.models.asking import HELLO, LOOK_UP, SECRET, ask, fail
from tests.integration.models.server import Page, Stream, sse


def event(kind: str, **more: Any) -> str:
    return sse({"type": kind, "sequence_number": 0, **more}, kind)


def response(status: str, *output: dict[str, Any]) -> dict[str, Any]:
    counted = {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 35,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1767225600, "model": "m1", "tools": []}
    tail = {"tool_choice": "auto", "parallel_tool_calls": True, "usage": counted}
    return {**head, "status": status, "output": list(output), **tail}


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello there.", "annotations": []}],
}
DELTA = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
RESPONSES = Stream(
    [
        event("response.created", response=response("in_progress")),
        event("response.output_item.added", output_index=0, item={**MESSAGE, "content": []}),
        event("response.output_text.delta", delta="Hello", **DELTA),
        event("response.output_text.delta", delta=" there.", **DELTA),
        event("response.output_item.done", output_index=0, item=MESSAGE),
        event("response.completed", response=response("completed", MESSAGE)),
    ]
)


def gemini(parts: list[dict[str, Any]], finish: str | None = None) -> str:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    counted = {"promptTokenCount": 30, "candidatesTokenCount": 5, "totalTokenCount": 35}
    return sse(
        {"candidates": [candidate], "usageMetadata": counted, "responseId": "r1", "modelVersion": "m1"}
    )


GEMINI = Stream([gemini([{"text": "Hello"}]), gemini([{"text": " there."}], "STOP")])


def test_responses_are_streamed_and_not_stored() -> None:
    asked = ask(RESPONSES, api="openai-responses", request=replace(HELLO, tools=[LOOK_UP]))
    assert asked.deltas == [TextDelta(0, "Hello"), TextDelta(0, " there.")]
    assert asked.reply.usage == Usage(30, 5, 10)
    assert asked.sent["store"] is False
    assert asked.sent["tools"][0]["strict"] is False
    assert asked.sent["tools"][0]["name"] == "crm__get_contact"


def test_responses_that_end_too_early_are_cut() -> None:
    failure = fail(Stream(RESPONSES.events[:3], end="eof"), api="openai-responses")
    assert (failure.reason, failure.streamed) == ("cut", True)


RESPONSES_ERRORS = [
    (
        400,
        "context_length_exceeded",
        "Your input exceeds the context window of this model.",
        "context_overflow",
    ),
    (400, "invalid_value", "Invalid value: 'input[0].role'.", "format"),
    (401, "invalid_api_key", "Incorrect API key provided", "auth"),
    (403, "model_not_allowed", "You are not allowed to sample from this model", "auth"),
    (404, "model_not_found", "The model 'm1' does not exist", "not_found"),
    (429, "rate_limit_exceeded", "Rate limit reached", "rate_limit"),
    (429, "insufficient_quota", "You exceeded your current quota", "billing"),
    (500, "server_error", "The server had an error", "server"),
    (503, "server_is_overloaded", "The engine is currently overloaded", "overloaded"),
]


@pytest.mark.parametrize(("status", "code", "message", "reason"), RESPONSES_ERRORS)
def test_responses_errors(status: int, code: str, message: str, reason: str) -> None:
    failure = fail(Page(status, openai_wire.error(message, code=code)), api="openai-responses")
    assert (failure.reason, failure.status, failure.streamed) == (reason, status, False)


@pytest.mark.parametrize(
    ("code", "message", "at_once", "in_the_middle"),
    [
        ("context_length_exceeded", "Your input exceeds the context window.", *["context_overflow"] * 2),
        ("insufficient_quota", "You exceeded your current quota.", *["billing"] * 2),
        ("rate_limit_exceeded", "Rate limit reached", "rate_limit", "cut"),
        ("server_error", "The server had an error", "server", "cut"),
    ],
)
def test_responses_that_fail_in_the_stream(code: str, message: str, at_once: str, in_the_middle: str) -> None:
    """The status is gone by then; the code and the words are left."""
    failed = response("failed") | {"error": {"code": code, "message": message}}
    end = event("response.failed", response=failed)
    for begun, reason in ((1, at_once), (3, in_the_middle)):
        failure = fail(Stream([*RESPONSES.events[:begun], end]), api="openai-responses")
        assert (failure.reason, failure.streamed) == (reason, begun == 3)
        assert message in failure.message


def test_responses_that_are_cut_short_by_their_limit() -> None:
    short = response("incomplete", MESSAGE) | {"incomplete_details": {"reason": "max_output_tokens"}}
    asked = ask(
        Stream([*RESPONSES.events[:-1], event("response.incomplete", response=short)]), api="openai-responses"
    )
    assert asked.reply.finish_reason == "length"


def test_a_model_new_at_openai_is_asked_to_think() -> None:
    more = {"provider": "openai", "id": "gpt-99", "reasoning": True}
    request = replace(HELLO, thinking=Thinking("high", 32_768))
    asked = ask(RESPONSES, api="openai-responses", request=request, **more)
    assert asked.sent["reasoning"]["effort"] == "high"
    assert asked.reply.thinking == "high"


def test_gemini_streams() -> None:
    asked = ask(GEMINI, api="google", id="gemini-2.5-flash")
    assert asked.deltas == [TextDelta(0, "Hello"), TextDelta(0, " there.")]
    assert (asked.reply.text, asked.reply.finish_reason) == ("Hello there.", "stop")
    assert asked.reply.usage == Usage(30, 5)
    request = asked.server.requests[0]
    assert request.path.startswith("/v1/models/gemini-2.5-flash:streamGenerateContent")
    assert request.headers["x-goog-api-key"] == SECRET


def test_gemini_calls_tools() -> None:
    call = {"functionCall": {"name": "crm__get_contact", "args": {"email": "a@b.c"}}}
    stream = Stream([gemini([call], "STOP")])
    asked = ask(stream, api="google", id="gemini-2.5-flash", request=replace(HELLO, tools=[LOOK_UP]))
    assert [call.tool_name for call in asked.reply.tool_calls] == ["crm.get_contact"]
    assert isinstance(asked.deltas[0], ToolCallDelta)
    assert asked.deltas[0].arguments == '{"email": "a@b.c"}'


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("gemini-2.5-flash", {"include_thoughts": True, "thinking_budget": 3_072}),
        ("gemini-3-flash-preview", {"include_thoughts": True, "thinking_level": "HIGH"}),
    ],
)
def test_gemini_thinks_within_the_answer(name: str, sent: dict[str, object]) -> None:
    request = replace(HELLO, thinking=Thinking("high", 32_768), max_tokens=4_096)
    asked = ask(GEMINI, api="google", id=name, request=request)
    assert asked.sent["generationConfig"]["thinkingConfig"] == sent


def test_gemini_cut_in_the_middle() -> None:
    failure = fail(Stream(GEMINI.events[:1], end="eof"), api="google", id="gemini-2.5-flash")
    assert (failure.reason, failure.streamed) == ("cut", True)


@pytest.mark.parametrize(
    ("status", "code", "message", "reason"),
    [
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens",
            "context_overflow",
        ),
        (400, "INVALID_ARGUMENT", "Invalid value at 'tools'", "format"),
        (403, "PERMISSION_DENIED", "Permission denied", "auth"),
        (404, "NOT_FOUND", "models/m1 is not found", "not_found"),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 36.5s.", "rate_limit"),
        (500, "INTERNAL", "An internal error has occurred", "server"),
        (503, "UNAVAILABLE", "The model is overloaded.", "overloaded"),
    ],
)
def test_gemini_errors(status: int, code: str, message: str, reason: str) -> None:
    page = Page(status, {"error": {"code": status, "message": message, "status": code}})
    failure = fail(page, api="google", id="gemini-2.5-flash")
    assert failure.reason == reason
    assert message in failure.message
    assert failure.retry_after == (36.5 if status == 429 else None)
