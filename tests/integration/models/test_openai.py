"""OpenAI chat completions, through the real client."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from colleague.agent.models.delta import Delta, TextDelta, ThinkingDelta, ToolCallDelta
from colleague.agent.models.late_tail import HEAD
from colleague.agent.models.messages import from_json, to_json
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import Prices, Usage
from colleague.agent.models.think import think
from colleague.agent.models.thinking import Thinking
from tests.integration.models import openai_wire as wire
from tests.integration.models.asking import HELLO, LOOK_UP, SECRET, ask, at, fail, with_server
from tests.integration.models.server import Page, Stream, WireServer

CALLS = Stream(
    [
        wire.call(0, "", name="crm__get_contact", call_id="call_1"),
        wire.call(0, '{"email": '),
        wire.call(0, '"ada@example.com"}'),
        wire.call(1, '{"email": "bob@example.com"}', name="crm__get_contact", call_id="call_2"),
        wire.chunk({}, "tool_calls"),
        wire.usage(),
        wire.DONE,
    ]
)


def test_text_is_streamed_and_returned_whole() -> None:
    asked = ask(Stream(wire.said("Hello", " there", ".")))
    assert asked.deltas == [TextDelta(0, "Hello"), TextDelta(0, " there"), TextDelta(0, ".")]
    assert asked.reply.text == "Hello there."
    assert asked.reply.finish_reason == "stop"
    assert asked.reply.tool_calls == []
    assert asked.reply.usage == Usage(100, 20)


def test_an_answer_in_one_piece_is_asked_for_without_streaming() -> None:
    asked = ask(Page(200, wire.whole("Hello there.")), streaming=False)
    assert not asked.sent.get("stream")
    assert asked.deltas == []
    assert (asked.reply.text, asked.reply.finish_reason) == ("Hello there.", "stop")
    assert asked.reply.usage == Usage(100, 20)
    assert fail(Page(500, wire.error("Overloaded")), streaming=False).reason == "server"


def test_tool_calls_come_in_fragments_under_the_names_people_see() -> None:
    asked = ask(CALLS, request=replace(HELLO, tools=[LOOK_UP]))
    assert asked.deltas == [
        ToolCallDelta(0, "call_1", "crm.get_contact", ""),
        ToolCallDelta(0, "call_1", "crm.get_contact", '{"email": '),
        ToolCallDelta(0, "call_1", "crm.get_contact", '"ada@example.com"}'),
        ToolCallDelta(1, "call_2", "crm.get_contact", '{"email": "bob@example.com"}'),
    ]
    first, second = asked.reply.tool_calls
    assert (first.tool_name, first.args_as_dict()) == ("crm.get_contact", {"email": "ada@example.com"})
    assert second.tool_call_id == "call_2"
    assert asked.reply.finish_reason == "tool_call"


def test_tools_and_history_are_sent_under_safe_names() -> None:
    history = [
        ModelRequest.user_text_prompt("Who is Ada?"),
        ModelResponse([TextPart("One moment."), ToolCallPart("crm.get_contact", {"email": "a"}, "call_1")]),
        ModelRequest([ToolReturnPart("crm.get_contact", {"name": "Ada"}, "call_1")]),
    ]
    sent = ask(Stream(wire.said("Ada.")), request=ThinkRequest(history, tools=[LOOK_UP])).sent
    assert sent["tools"][0]["function"]["name"] == "crm__get_contact"
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == "crm__get_contact"
    assert sent["messages"][2]["content"] == '{"name":"Ada"}'
    assert [part.tool_name for part in history[1].parts if isinstance(part, ToolCallPart)] == [
        "crm.get_contact"
    ]


def test_an_answer_survives_json() -> None:
    reply = ask(CALLS, request=replace(HELLO, tools=[LOOK_UP])).reply
    text = to_json([reply.response])
    assert to_json(from_json(text)) == text
    again = from_json(text)[0]
    assert isinstance(again, ModelResponse)
    assert [call.tool_name for call in again.tool_calls] == ["crm.get_contact", "crm.get_contact"]


def test_an_imitator_gets_only_what_all_of_them_understand() -> None:
    request = replace(HELLO, tools=[LOOK_UP], system="Be brief.", system_tail="It is noon.", max_tokens=50)
    sent = ask(Stream(wire.said("Hi.")), request=request).sent
    assert "strict" not in sent["tools"][0]["function"]
    assert sent["max_tokens"] == 50
    assert "max_completion_tokens" not in sent
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"Hello\n\n{HEAD}\n\nIt is noon."},
    ]
    assert sent["stream_options"] == {"include_usage": True}
    assert "reasoning_effort" not in sent


def test_what_a_server_can_do_is_a_setting() -> None:
    request = replace(HELLO, tools=[LOOK_UP], max_tokens=50)
    compat = {"supportsStrictMode": True, "maxTokensField": "max_completion_tokens"}
    sent = ask(Stream(wire.said("Hi.")), request=request, compat=compat).sent
    assert sent["tools"][0]["function"]["strict"] is True
    assert sent["max_completion_tokens"] == 50


def test_the_key_headers_and_parameters_are_sent() -> None:
    more = {"headers": (("X-Team", "sales"),), "params": {"temperature": 0.2, "min_p": 0.1}}
    asked = ask(Stream(wire.said("Hi.")), **more)
    request = asked.server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["x-team"] == "sales"
    assert (asked.sent["model"], asked.sent["temperature"], asked.sent["min_p"]) == ("m1", 0.2, 0.1)


@pytest.mark.parametrize(
    ("reasoning", "level", "sent", "counts"),
    [
        (True, "high", "high", "high"),
        (True, "off", None, "off"),
        (None, "high", None, "off"),
        (False, "high", None, "off"),
    ],
)
def test_a_thinking_level_is_sent_or_the_reply_says_that_it_was_not(
    reasoning: bool | None, level: str, sent: str | None, counts: str
) -> None:
    request = replace(HELLO, thinking=Thinking(level, 4096))  # type: ignore[arg-type]
    asked = ask(Stream(wire.said("Hi.")), request=request, reasoning=reasoning)
    assert asked.sent.get("reasoning_effort") == sent
    assert asked.reply.thinking == counts


def test_thinking_in_a_field_of_its_own_is_told_apart() -> None:
    events = [wire.chunk({"reasoning_content": "Hm."}), *wire.said("Yes.")]
    asked = ask(Stream(events))
    assert asked.deltas == [ThinkingDelta(0, "Hm."), TextDelta(1, "Yes.")]
    assert asked.reply.text == "Yes."


def test_the_cost_follows_the_configured_prices() -> None:
    prices = Prices(Decimal("3"), Decimal("15"), Decimal("0.3"))
    events = [*wire.spoken("Hi."), wire.chunk({}, "stop"), wire.usage(1_000_000, 100_000, cached=400_000)]
    reply = ask(Stream([*events, wire.DONE]), prices=prices).reply
    assert reply.usage == Usage(1_000_000, 100_000, 400_000, 0)
    assert reply.cost == Decimal("1.8") + Decimal("1.5") + Decimal("0.12")


def test_a_cost_nobody_knows_is_none() -> None:
    assert ask(Stream(wire.said("Hi."))).reply.cost is None


def test_tokens_that_were_not_counted_are_not_free() -> None:
    events = [*wire.spoken("Hi."), wire.chunk({}, "stop"), wire.DONE]
    reply = ask(Stream(events), prices=Prices(Decimal(3), Decimal(15))).reply
    assert (reply.usage.measured, reply.cost) == (False, None)


def test_running_out_of_tokens_is_a_finish_reason() -> None:
    events = [*wire.spoken("Once upon"), wire.chunk({}, "length"), wire.DONE]
    assert ask(Stream(events)).reply.finish_reason == "length"


def test_a_callback_may_be_a_coroutine() -> None:
    async def run(server: WireServer) -> list[Delta]:
        told: list[Delta] = []

        async def tell(delta: Delta) -> None:
            await asyncio.sleep(0)
            told.append(delta)

        await think(at(server), HELLO, tell)
        return told

    assert with_server(run, Stream(wire.said("a", "b"))) == [TextDelta(0, "a"), TextDelta(0, "b")]


def test_what_a_callback_raises_is_not_the_models_fault() -> None:
    async def run(server: WireServer) -> None:
        def tell(_: Delta) -> None:
            raise KeyError("page closed")

        with pytest.raises(KeyError, match="page closed"):
            await think(at(server), HELLO, tell)

    with_server(run, Stream(wire.said("a", "b")))


def test_cancelling_cancels_the_request_at_the_provider() -> None:
    async def run(server: WireServer) -> None:
        first = asyncio.Event()
        task = asyncio.create_task(think(at(server), HELLO, lambda _: first.set()))
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 120)

    with_server(run, Stream(wire.spoken("Hello"), end="stall"))


def test_cancelling_before_the_first_token() -> None:
    async def run(server: WireServer) -> None:
        task = asyncio.create_task(think(at(server), HELLO))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 120)

    with_server(run, Stream([], end="stall"))
