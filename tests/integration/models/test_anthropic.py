"""Anthropic messages, through the real client."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest

from colleague.agent.models.delta import TextDelta, ThinkingDelta, ToolCallDelta
from colleague.agent.models.messages import from_json, to_json
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import Prices, Usage
from colleague.agent.models.think import think
from colleague.agent.models.thinking import Level, Thinking
from tests.integration.models import anthropic_wire as wire
from tests.integration.models.asking import HELLO, LOOK_UP, SECRET, Asked, ask, at, with_server
from tests.integration.models.server import Stream, WireServer

WHOLE = Stream([wire.started(), *wire.text(0, "Hello", " there."), *wire.ended()])
THOUGHTFUL = Stream(
    [
        wire.started(),
        *wire.thinking(0, "Who", " is it?"),
        *wire.text(1, "Let me look."),
        *wire.tool_use(2, "crm__get_contact", '{"email"', ': "ada@example.com"}'),
        *wire.ended("tool_use"),
    ]
)


def claude(stream: Stream = WHOLE, **more: Any) -> Asked:
    return ask(stream, api="anthropic-messages", **more)


def test_text_is_streamed_and_returned_whole() -> None:
    asked = claude()
    assert asked.deltas == [TextDelta(0, "Hello"), TextDelta(0, " there.")]
    assert (asked.reply.text, asked.reply.finish_reason) == ("Hello there.", "stop")
    request = asked.server.requests[0]
    assert request.path.partition("?")[0] == "/v1/messages"
    assert request.headers["x-api-key"] == SECRET


def test_thinking_and_tool_calls() -> None:
    asked = claude(THOUGHTFUL, request=replace(HELLO, tools=[LOOK_UP]))
    assert asked.deltas == [
        ThinkingDelta(0, "Who"),
        ThinkingDelta(0, " is it?"),
        TextDelta(1, "Let me look."),
        ToolCallDelta(2, "toolu_2", "crm.get_contact", ""),
        ToolCallDelta(2, "toolu_2", "crm.get_contact", '{"email"'),
        ToolCallDelta(2, "toolu_2", "crm.get_contact", ': "ada@example.com"}'),
    ]
    assert asked.reply.text == "Let me look."
    assert asked.reply.tool_calls[0].args_as_dict() == {"email": "ada@example.com"}


def test_signed_thinking_survives_json_and_goes_back() -> None:
    reply = claude(THOUGHTFUL, request=replace(HELLO, tools=[LOOK_UP])).reply
    text = to_json([*HELLO.messages, reply.response])
    assert to_json(from_json(text)) == text
    history = [*from_json(text), ModelRequest.user_text_prompt("Go on.")]
    sent = claude(request=ThinkRequest(history, tools=[LOOK_UP])).sent
    thought, said, called = sent["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "Who is it?", "signature": "c2lnbmVk"}
    assert (said["type"], called["name"]) == ("text", "crm__get_contact")


def test_an_answer_without_words_is_an_answer() -> None:
    reply = claude(Stream([wire.started(), *wire.ended()])).reply
    assert (reply.text, reply.finish_reason) == ("", "stop")


def test_the_cache_is_on_for_tools_and_the_stable_prompt() -> None:
    request = replace(HELLO, tools=[LOOK_UP], system="Long and stable.", system_tail="It is noon.")
    sent = claude(request=request).sent
    assert [block["text"] for block in sent["system"]] == ["Long and stable."]
    assert "cache_control" in sent["system"][0]
    said, tail = sent["messages"][-1]["content"]
    assert "cache_control" in said
    assert tail["text"].endswith("It is noon.")
    assert "cache_control" in sent["tools"][-1]
    assert "cache_control" not in sent


def test_cached_tokens_have_their_own_price() -> None:
    prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
    events = [wire.started(read=1000, written=200), *wire.text(0, "Hi."), *wire.ended(output=20)]
    reply = claude(Stream(events), prices=prices).reply
    assert reply.usage == Usage(1250, 20, 1000, 200)
    dollars = 50 * Decimal(3) + 20 * Decimal(15) + 1000 * Decimal("0.3") + 200 * Decimal("3.75")
    assert reply.cost == dollars / 1_000_000


@pytest.mark.parametrize(
    ("level", "budget", "most", "sent", "counts"),
    [
        ("high", 32_768, 64_000, 32_768, "high"),
        ("high", 32_768, 8_192, 7_168, "high"),
        ("low", 100, 8_192, 1_024, "low"),
        ("high", 32_768, 1_500, None, "off"),
        ("off", 0, 8_192, None, "off"),
    ],
)
def test_a_thinking_budget_stays_below_the_tokens_of_the_answer(
    level: Level, budget: int, most: int, sent: int | None, counts: str
) -> None:
    asked = claude(request=replace(HELLO, thinking=Thinking(level, budget)), max_tokens=most)
    thinking = asked.sent.get("thinking") or {}
    assert thinking.get("budget_tokens") == sent
    assert asked.sent["max_tokens"] == most
    assert asked.reply.thinking == counts


def test_newer_models_get_an_effort_instead_of_a_budget() -> None:
    asked = claude(request=replace(HELLO, thinking=Thinking("low", 2048)), id="claude-sonnet-4-6")
    assert asked.sent["thinking"] == {"type": "adaptive"}
    assert asked.sent["output_config"] == {"effort": "low"}


def test_an_address_may_end_with_the_version() -> None:
    async def run(server: WireServer) -> str:
        model = at(server, "anthropic-messages")
        await think(replace(model, base_url=f"{server.url}/v1/"), HELLO)
        return server.requests[0].path

    assert with_server(run, WHOLE).startswith("/v1/messages")
