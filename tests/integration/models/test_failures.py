"""Everything that can go wrong with a request, on the wire."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace
from typing import Any

import pytest

from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.request_params import provider_request
from colleague.agent.models.resolved import LONGEST_SECONDS, Api, Key, ResolvedModel
from colleague.agent.models.think import think
from tests.integration.models import anthropic_wire, openai_wire
from tests.integration.models.asking import HELLO, SECRET, at, fail, with_server
from tests.integration.models.server import Page, Stream, WireServer, sse

OPENAI: list[tuple[int, Any, str]] = [
    (400, openai_wire.error("'messages' is missing"), "format"),
    (400, openai_wire.error("This model's maximum context length is 8192 tokens."), "context_overflow"),
    (400, openai_wire.error("the request exceeds the available context size"), "context_overflow"),
    (
        400,
        openai_wire.error("input (9000 tokens) is longer than the model's context length"),
        "context_overflow",
    ),
    (401, openai_wire.error("Incorrect API key provided", code="invalid_api_key"), "auth"),
    (402, openai_wire.error("Payment required"), "billing"),
    (403, openai_wire.error("You are not allowed to sample from this model"), "auth"),
    (404, openai_wire.error("The model `m1` does not exist", code="model_not_found"), "not_found"),
    (404, "<html><body><h1>Not Found</h1></body></html>", "not_found"),
    (408, openai_wire.error("Request timeout"), "timeout"),
    (413, "Request Entity Too Large", "context_overflow"),
    (422, {"detail": [{"loc": ["body", "tools"], "msg": "field required"}]}, "format"),
    (429, openai_wire.error("Rate limit reached", code="rate_limit_exceeded"), "rate_limit"),
    (429, openai_wire.error("You exceeded your quota", code="insufficient_quota"), "billing"),
    (429, openai_wire.error("Insufficient balance"), "billing"),
    (429, openai_wire.error("Request too large for m1 on tokens per min (TPM): Limit 9"), "context_overflow"),
    (500, openai_wire.error("The server had an error", kind="server_error"), "server"),
    (500, "", "server"),
    (502, "<html><title>Bad gateway</title></html>", "server"),
    (503, openai_wire.error("Loading model"), "overloaded"),
    (529, openai_wire.error("Overloaded"), "overloaded"),
]
ANTHROPIC: list[tuple[int, str, str, str]] = [
    (400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum", "context_overflow"),
    (400, "invalid_request_error", "Your credit balance is too low", "billing"),
    (400, "invalid_request_error", "messages: at least one message is required", "format"),
    (401, "authentication_error", "invalid x-api-key", "auth"),
    (402, "billing_error", "There is a problem with your billing", "billing"),
    (403, "permission_error", "Your API key does not have permission", "auth"),
    (404, "not_found_error", "model: m1", "not_found"),
    (408, "timeout_error", "timed out", "timeout"),
    (413, "request_too_large", "Request exceeds the maximum size", "context_overflow"),
    (429, "rate_limit_error", "This request would exceed your rate limit", "rate_limit"),
    (500, "api_error", "Internal server error", "server"),
    (503, "api_error", "Service unavailable", "overloaded"),
    (529, "overloaded_error", "Overloaded", "overloaded"),
]


@pytest.mark.parametrize(("status", "body", "reason"), OPENAI)
def test_what_openai_and_its_imitators_say(status: int, body: object, reason: str) -> None:
    failure = fail(Page(status, body))
    assert (failure.reason, failure.status, failure.streamed) == (reason, status, False)
    assert failure.message.startswith("local/m1: ")
    assert "<" not in failure.message
    assert failure.hint


@pytest.mark.parametrize(("status", "kind", "message", "reason"), ANTHROPIC)
def test_what_anthropic_says(status: int, kind: str, message: str, reason: str) -> None:
    failure = fail(Page(status, anthropic_wire.error(kind, message)), api="anthropic-messages")
    assert (failure.reason, failure.status) == (reason, status)
    assert failure.message.endswith(f"({status}): {message}")


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"Retry-After": "7"}, "slow down", 7),
        ({"retry-after-ms": "1500"}, "slow down", 1.5),
        ({}, "Please try again in 6m0.5s.", 360.5),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "slow down", None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], message: str, seconds: float | None) -> None:
    failure = fail(Page(429, openai_wire.error(message), headers))
    assert failure.retry_after == seconds


def test_the_library_itself_does_not_retry() -> None:
    async def run(server: WireServer) -> int:
        with pytest.raises(ModelFailure):
            await think(at(server), HELLO)
        return len(server.requests)

    assert with_server(run, Page(500, "")) == 1


def test_a_key_is_never_repeated() -> None:
    for said in (f"Incorrect key: {SECRET}", "Bearer abcdefghijkl is wrong", "use sk-live-abcdefghijklmnop"):
        with pytest.raises(ModelFailure) as caught:
            raise fail(Page(401, openai_wire.error(said)))
        shown = "".join(traceback.format_exception(caught.value)) + caught.value.hint
        assert "[hidden]" in shown
        assert not any(secret in shown for secret in (SECRET, "abcdefghijkl"))
    assert SECRET not in repr(ResolvedModel("a", "b", key=Key(SECRET, "A_KEY")))


def test_a_refused_thinking_level_is_told_apart() -> None:
    message = "thinking.budget_tokens: Input should be greater than 1024"
    page = Page(400, anthropic_wire.error("invalid_request_error", message))
    assert fail(page, api="anthropic-messages").about_thinking
    assert not fail(Page(400, openai_wire.error("bad tools"))).about_thinking


TEXT = openai_wire.spoken("Hel", "lo")
CUTS = [
    Stream(TEXT, end="cut"),
    Stream(TEXT, end="eof"),
    Stream([*TEXT, openai_wire.DONE]),
    Stream([*TEXT, "data: {broken\n\n"]),
    Stream([*TEXT, sse(openai_wire.error("overloaded", kind="overloaded"))]),
]
CLAUDE_TEXT = [anthropic_wire.started(), *anthropic_wire.text(0, "Hel", "lo")]
CLAUDE_CUTS = [
    Stream(CLAUDE_TEXT, end="cut"),
    Stream(CLAUDE_TEXT, end="eof"),
    Stream(CLAUDE_TEXT),
    Stream([*CLAUDE_TEXT, "event: content_block_delta\ndata: {broken\n\n"]),
    Stream([*CLAUDE_TEXT, sse(anthropic_wire.error("overloaded_error", "Overloaded"), "error")]),
]


@pytest.mark.parametrize("stream", CUTS)
def test_a_half_answer_is_not_an_answer(stream: Stream) -> None:
    failure = fail(stream)
    assert (failure.reason, failure.streamed, failure.can_wait) == ("cut", True, True)


@pytest.mark.parametrize("stream", CLAUDE_CUTS)
def test_a_half_answer_of_anthropic(stream: Stream) -> None:
    failure = fail(stream, api="anthropic-messages")
    assert (failure.reason, failure.streamed) == ("cut", True)


def test_a_half_tool_call_is_not_a_call() -> None:
    half = [openai_wire.call(0, '{"email": ', name="crm__get_contact", call_id="call_1")]
    assert fail(Stream(half, end="eof")).reason == "cut"
    assert fail(Stream(half, end="cut")).reason == "cut"


def test_a_server_that_never_says_why_it_stops_can_be_declared() -> None:
    async def run(server: WireServer) -> str:
        model = at(server, compat={"sendsFinishReason": False})
        return (await think(model, HELLO)).text

    assert with_server(run, Stream([*TEXT, openai_wire.DONE])) == "Hello"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Stream([], end="cut"), "connection"),
        (Stream([sse(openai_wire.error("busy", code="server_is_overloaded"))]), "overloaded"),
        (Stream(["data: <<<>>>\n\n"]), "unknown"),
        (Stream([sse("42")]), "unknown"),
        (Stream([sse({"choices": [{"delta": {"tool_calls": "nope"}}]})]), "unknown"),
        (Stream([], end="eof"), "unknown"),
        (Page(200, "<html>Welcome</html>"), "unknown"),
        (Page(200, {"hello": 1}), "unknown"),
    ],
)
def test_garbage_before_the_first_token(answer: Page | Stream, reason: str) -> None:
    failure = fail(answer)
    assert (failure.reason, failure.streamed) == (reason, False)


@pytest.mark.parametrize("events", [[], TEXT])
def test_silence_is_given_up(events: list[str]) -> None:
    failure = fail(Stream(events, end="stall"), request=replace(HELLO, stall_seconds=0.5))
    assert (failure.reason, failure.streamed) == ("stalled", bool(events))
    assert "models.providers.local.idleTimeoutSeconds" in failure.hint


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses", "anthropic-messages", "google"])
def test_silence_is_given_up_whatever_is_spoken(api: Api) -> None:
    failure = fail(Stream([], end="stall"), api=api, idle_seconds=0.2)
    assert (failure.reason, failure.can_wait) == ("stalled", True)


@pytest.mark.parametrize("events", [[], TEXT])
def test_a_drip_is_no_silence_and_ends_with_the_time_of_the_request(events: list[str]) -> None:
    failure = fail(Stream(events, end="drip"), idle_seconds=30, timeout_seconds=0.5)
    assert failure.reason == "timeout"


def test_every_request_has_an_end() -> None:
    """Also where no setting says so: a drip would else go on for ever."""

    async def run(server: WireServer) -> float:
        async with Connections() as connections:
            model = at(server)
            return provider_request(model, await connections.open(model), HELLO).settings["request_timeout"]

    assert with_server(run, Page(200)) == LONGEST_SECONDS


def test_a_whole_answer_has_a_time_limit() -> None:
    stall = Stream(TEXT, end="stall")
    assert fail(stall, request=replace(HELLO, timeout_seconds=0.1)).reason == "timeout"
    assert fail(stall, timeout_seconds=0.1).reason == "timeout"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:9/v1", "connection"),
        ("http://no-such-host.invalid/v1", "connection"),
        ("nonsense", "format"),
    ],
)
def test_an_address_where_nobody_is(address: str, reason: str) -> None:
    async def main() -> ModelFailure:
        with pytest.raises(ModelFailure) as caught:
            await think(ResolvedModel("local", "m1", base_url=address), HELLO)
        return caught.value

    failure = asyncio.run(main())
    assert failure.reason == reason


def test_what_was_told_before_a_cut_was_really_said() -> None:
    async def run(server: WireServer) -> list[Delta]:
        told: list[Delta] = []
        with pytest.raises(ModelFailure, match="broke off"):
            await think(at(server), HELLO, told.append)
        return told

    assert [getattr(delta, "text", "") for delta in with_server(run, CUTS[0])] == ["Hel", "lo"]
