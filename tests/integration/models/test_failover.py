"""Several keys and models, over the wire formats of three providers: who is asked, in which order."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart

from colleague.agent.models.connections import Connections
from colleague.agent.models.delta import Delta, TextDelta
from colleague.agent.models.failover import AllFailed, Cooldown, think_with_failover
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import Api, Key, ResolvedModel
from colleague.agent.models.retry import FailedTry, RetryPolicy, Wait
from colleague.agent.models.thinking import Thinking
from tests.integration.models import anthropic_wire, openai_wire
from tests.integration.models.asking import HELLO, at
from tests.integration.models.providers import gemini
from tests.integration.models.server import Page, Stream, WireServer, serving, sse

T = TypeVar("T")


def google_error(status: int, message: str, kind: str) -> Page:
    return Page(status, {"error": {"code": status, "message": message, "status": kind}})


def claude_error(status: int, kind: str, message: str) -> Page:
    return Page(status, anthropic_wire.error(kind, message))


def chat_error(status: int, message: str, code: str | None = None) -> Page:
    return Page(status, openai_wire.error(message, code=code))


SAID: dict[Api, Stream] = {
    "openai-completions": Stream(openai_wire.said("Hi.")),
    "anthropic-messages": Stream(
        [anthropic_wire.started(), *anthropic_wire.text(0, "Hi."), *anthropic_wire.ended()]
    ),
    "google": Stream(gemini(False)),
}
HALF: dict[Api, list[str]] = {
    "openai-completions": openai_wire.spoken("Hel", "lo"),
    "anthropic-messages": [anthropic_wire.started(), *anthropic_wire.text(0, "Hel", "lo")],
    "google": [sse({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}]})],
}
REFUSED: list[tuple[Api, Page, str]] = [
    ("openai-completions", chat_error(401, "Incorrect API key provided", "invalid_api_key"), "auth"),
    ("openai-completions", chat_error(429, "Rate limit reached", "rate_limit_exceeded"), "rate_limit"),
    ("openai-completions", chat_error(429, "You exceeded your quota", "insufficient_quota"), "billing"),
    ("openai-completions", chat_error(500, "The server had an error"), "server"),
    ("openai-completions", chat_error(503, "Overloaded"), "overloaded"),
    ("openai-completions", chat_error(408, "Request timeout"), "timeout"),
    ("openai-completions", chat_error(404, "The model does not exist", "model_not_found"), "not_found"),
    ("openai-completions", chat_error(400, "tools[0].name is wrong"), "format"),
    ("anthropic-messages", claude_error(401, "authentication_error", "invalid x-api-key"), "auth"),
    ("anthropic-messages", claude_error(429, "rate_limit_error", "slow down"), "rate_limit"),
    (
        "anthropic-messages",
        claude_error(400, "invalid_request_error", "credit balance is too low"),
        "billing",
    ),
    ("anthropic-messages", claude_error(500, "api_error", "Internal server error"), "server"),
    ("anthropic-messages", claude_error(529, "overloaded_error", "Overloaded"), "overloaded"),
    ("anthropic-messages", claude_error(404, "not_found_error", "model: m1"), "not_found"),
    ("anthropic-messages", claude_error(400, "invalid_request_error", "tools.0.name: wrong"), "format"),
    (
        "anthropic-messages",
        claude_error(400, "invalid_request_error", "image exceeds 5 MB maximum"),
        "image_size",
    ),
    ("google", google_error(403, "The caller does not have permission", "PERMISSION_DENIED"), "auth"),
    ("google", google_error(401, "API key not valid", "UNAUTHENTICATED"), "auth"),
    ("google", google_error(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED"), "rate_limit"),
    ("google", google_error(500, "Internal error encountered", "INTERNAL"), "server"),
    ("google", google_error(503, "The model is overloaded", "UNAVAILABLE"), "overloaded"),
    ("google", google_error(404, "models/m1 is not found", "NOT_FOUND"), "not_found"),
    ("google", google_error(400, "Invalid value at tools", "INVALID_ARGUMENT"), "format"),
]
WRONG_ORDER: list[tuple[Api, Page]] = [
    (
        "anthropic-messages",
        claude_error(
            400, "invalid_request_error", 'messages: roles must alternate between "user" and "assistant"'
        ),
    ),
    (
        "openai-completions",
        chat_error(400, "An assistant message with 'tool_calls' must be followed by tool messages"),
    ),
    (
        "google",
        google_error(
            400,
            "Please ensure that function call turn comes immediately after a user turn or after a function "
            "response turn.",
            "INVALID_ARGUMENT",
        ),
    ),
]


@dataclass
class Rests:
    """Which keys rest, in memory."""

    resting: dict[tuple[str, str], Cooldown] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    async def rests(self, models: Sequence[ResolvedModel]) -> list[Cooldown | None]:
        return [self.resting.get((model.profile, model.name)) for model in models]

    async def note_failed(self, model: ResolvedModel, failure: ModelFailure) -> Cooldown | None:
        rest = Cooldown(1_767_225_600_000, failure.reason)
        self.resting[model.profile, model.name] = rest
        return rest

    async def note_used(self, model: ResolvedModel) -> None:
        self.used.append(model.profile)


@dataclass
class World:
    """Two servers: the first model has the keys one and two, the second model has the key three."""

    first: WireServer
    second: WireServer
    api: Api
    rests: Rests = field(default_factory=Rests)
    waits: list[Wait] = field(default_factory=list)
    failed: list[FailedTry] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    checks: int = 0

    @property
    def routes(self) -> Routes:
        first = at(self.first, self.api)
        other = replace(at(self.second, self.api), id="m2")
        keyed = [_keyed(first, "one"), _keyed(first, "two"), _keyed(other, "three")]
        return Routes(tuple(keyed))

    async def ask(self, request: ThinkRequest = HELLO, routes: Routes | None = None) -> Reply:
        async def sleep(_: float) -> None:
            pass

        async def check() -> None:
            self.checks += 1

        policy = RetryPolicy(
            lambda: math.inf,
            self.waits.append,
            sleep,
            lambda: 0.0,
            quick_seconds=math.inf,
            on_failed=self.failed.append,
            before_retry=check,
        )
        async with Connections() as connections:
            return await think_with_failover(
                routes or self.routes,
                request,
                self.deltas.append,
                policy,
                self.rests,
                connections=connections,
            )

    @property
    def keys_asked(self) -> list[str]:
        return [_key_of(request.headers) for request in (*self.first.requests, *self.second.requests)]

    @property
    def then(self) -> list[str]:
        return [wait.then for wait in self.waits]


def _keyed(model: ResolvedModel, name: str) -> ResolvedModel:
    return replace(model, key=Key(f"key-{name}", name, profile=name))


def _key_of(headers: dict[str, str]) -> str:
    given = headers.get("x-api-key") or headers.get("x-goog-api-key") or headers.get("authorization", "")
    return given.removeprefix("Bearer ").removeprefix("key-")


def world(
    api: Api,
    run: Callable[[World], Awaitable[T]],
    first: Sequence[Page | Stream],
    second: Sequence[Page | Stream] = (),
) -> T:
    async def main() -> T:
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(serving(*first))
            two = await stack.enter_async_context(serving(*(second or [SAID[api]])))
            return await run(World(one, two, api))

    return asyncio.run(main())


@pytest.mark.parametrize(("api", "page", "reason"), REFUSED)
def test_each_class_goes_to_the_next_key_or_the_next_model(api: Api, page: Page, reason: str) -> None:
    async def run(world: World) -> None:
        reply = await world.ask()
        assert {tried.failure.reason for tried in world.failed} == {reason}
        assert (reply.model, reply.profile) == ("local/m2", "three")
        again = 2 if reason in ("server", "overloaded") else 1
        models_own = reason in ("not_found", "format", "image_size")
        assert world.keys_asked == ["one"] * again + ([] if models_own else ["two"] * again) + ["three"]
        assert world.then[-1] == "local/m2 with three is asked"
        assert world.rests.used == ["three"]
        assert world.checks == len(world.failed)
        assert bool(world.rests.resting) is not models_own

    world(api, run, [page])


@pytest.mark.parametrize("api", SAID)
def test_the_second_key_of_the_same_model_comes_first(api: Api) -> None:
    async def run(world: World) -> None:
        reply = await world.ask()
        assert (reply.model, reply.profile, world.keys_asked) == ("local/m1", "two", ["one", "two"])
        assert world.then == ["local/m1 with two is asked"]
        await world.ask()
        assert world.keys_asked == ["one", "two", "two"]

    limited = {name: page for name, page, reason in REFUSED if reason == "rate_limit"}[api]
    world(api, run, [limited, SAID[api]])


@pytest.mark.parametrize("api", SAID)
@pytest.mark.parametrize("end", ["cut", "eof"])
def test_a_stream_that_breaks_in_the_middle_is_asked_for_again(api: Api, end: str) -> None:
    async def run(world: World) -> None:
        reply = await world.ask()
        assert (reply.model, world.keys_asked) == ("local/m1", ["one", "one"])
        [tried] = world.failed
        assert (tried.failure.reason, tried.failure.streamed) == ("cut", True)
        assert [wait.then for wait in world.waits] == [""]
        text = "".join(delta.text for delta in world.deltas if isinstance(delta, TextDelta))
        assert text.startswith("Hel")
        assert text.endswith(reply.text)

    world(api, run, [Stream(HALF[api], end=end), SAID[api]])


def test_one_that_always_breaks_is_left_for_the_next() -> None:
    async def run(world: World) -> None:
        reply = await world.ask()
        assert (reply.profile, world.keys_asked) == ("three", ["one", "one", "two", "two", "three"])

    world("openai-completions", run, [Stream(HALF["openai-completions"], end="cut")])


def test_what_a_broken_answer_had_cost_is_known() -> None:
    async def run(world: World) -> None:
        await world.ask()
        usage = world.failed[0].failure.usage
        assert usage is not None
        assert usage.input_tokens == 50

    api: Api = "anthropic-messages"
    world(api, run, [Stream(HALF[api], end="cut"), SAID[api]])


def test_alone_it_breaks_three_times_and_is_given_up() -> None:
    async def run(world: World) -> None:
        with pytest.raises(ModelFailure) as caught:
            await world.ask(routes=Routes(world.routes.models[:1]))
        assert (caught.value.reason, len(world.first.requests)) == ("cut", 3)

    world("openai-completions", run, [Stream(HALF["openai-completions"], end="cut")])


@pytest.mark.parametrize(
    ("api", "page"),
    [
        ("openai-completions", chat_error(400, "This model's maximum context length is 8192 tokens.")),
        (
            "anthropic-messages",
            claude_error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8"),
        ),
        ("google", google_error(400, "The input token count (9) exceeds the maximum", "INVALID_ARGUMENT")),
    ],
)
def test_an_overflow_is_passed_on(api: Api, page: Page) -> None:
    async def run(world: World) -> None:
        with pytest.raises(ModelFailure) as caught:
            await world.ask()
        assert (caught.value.reason, len(world.keys_asked)) == ("context_overflow", 1)
        assert not world.rests.resting

    world(api, run, [page])


@pytest.mark.parametrize(("api", "page"), WRONG_ORDER)
def test_a_wrong_order_is_repaired_once(api: Api, page: Page) -> None:
    messages = [
        ModelResponse(parts=[TextPart("Let me see."), ToolCallPart("ls", {}, tool_call_id="c-1")]),
        ModelRequest.user_text_prompt("Hello"),
        ModelRequest.user_text_prompt("Are you there?"),
    ]

    async def run(world: World) -> None:
        reply = await world.ask(ThinkRequest(messages))
        assert (reply.model, world.keys_asked) == ("local/m1", ["one", "one"])
        assert world.failed[0].failure.reason == "role_ordering"
        assert world.then == ["the order of the messages is repaired"]
        assert "No result of this call is known." in str(world.first.requests[1].body)

    async def stubborn(world: World) -> None:
        assert (await world.ask(ThinkRequest(messages))).model == "local/m2"
        assert world.keys_asked == ["one", "one", "three"]

    world(api, run, [page, SAID[api]])
    world(api, stubborn, [page])


def test_a_thinking_level_that_is_refused_is_lowered_and_remembered() -> None:
    page = claude_error(400, "invalid_request_error", "thinking.budget_tokens: must be lower")

    async def run(world: World) -> None:
        model = replace(world.routes.first, reasoning=True, max_tokens=64_000)
        request = replace(HELLO, thinking=Thinking("high", 32_768))
        reply = await world.ask(request, Routes((model,)))
        budgets = [each.body["thinking"]["budget_tokens"] for each in world.first.requests]
        assert (budgets, reply.thinking) == ([32_768, 8192, 2048], "low")
        assert world.then == ["it is asked with thinking medium", "it is asked with thinking low"]

    world("anthropic-messages", run, [page, page, SAID["anthropic-messages"]])


def test_all_exhausted_is_one_error_with_every_attempt() -> None:
    limited = chat_error(429, "Rate limit reached", "rate_limit_exceeded")
    wrong = chat_error(401, "Incorrect API key provided")

    async def run(world: World) -> None:
        with pytest.raises(AllFailed) as caught:
            await world.ask(routes=replace(world.routes, skipped=("openai/x needs a key",)))
        message = caught.value.message
        assert "no model answered, 3 asked: 1. local/m1 with one: " in message
        assert "2. local/m1 with two: " in message
        assert "3. local/m2 with three: the provider does not accept the key (401)" in message
        assert "not asked: openai/x needs a key" in message
        assert "is free again at 2026-01-01T00:00:00" in message
        assert "key-" not in message
        assert [each.reason for each in caught.value.failures] == ["rate_limit", "rate_limit", "auth"]

    world("openai-completions", run, [limited], [wrong])


def test_where_all_rest_the_one_that_is_free_first_is_asked_once() -> None:
    async def run(world: World) -> None:
        for place, model in enumerate(world.routes.models):
            world.rests.resting[model.profile, model.name] = Cooldown(1000 - place, "rate_limit")
        assert (await world.ask()).profile == "three"
        assert world.keys_asked == ["three"]

    world("openai-completions", run, [SAID["openai-completions"]])


def test_a_key_that_is_wrong_is_not_tried_with_another_model() -> None:
    async def run(world: World) -> None:
        models = world.routes.models
        same = Routes((models[0], replace(models[0], id="m3"), models[2]))
        assert (await world.ask(routes=same)).profile == "three"
        assert world.keys_asked == ["one", "three"]

    world("openai-completions", run, [chat_error(401, "Incorrect API key provided")])


def test_what_ends_the_budget_ends_the_trying() -> None:
    class OutOfBudget(Exception):
        pass

    async def run(world: World) -> None:
        async def check() -> None:
            raise OutOfBudget

        policy = RetryPolicy(lambda: math.inf, before_retry=check)
        with pytest.raises(OutOfBudget):
            await think_with_failover(world.routes, HELLO, None, policy, world.rests)
        assert world.keys_asked == ["one"]

    world("openai-completions", run, [chat_error(429, "slow down")])


def test_half_a_call_makes_no_call() -> None:
    half: list[Any] = [openai_wire.call(0, '{"email": ', name="crm__get_contact", call_id="call_1")]

    async def run(world: World) -> None:
        reply = await world.ask()
        assert (reply.text, reply.tool_calls) == ("Hi.", [])

    world("openai-completions", run, [Stream(half, end="cut"), SAID["openai-completions"]])
