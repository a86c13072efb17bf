"""Scripts, played through the same request as any model."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from colleague.agent.models.delta import Delta, TextDelta, ThinkingDelta, ToolCallDelta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.messages import from_json, to_json
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolve import resolve_model
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.script import ScriptError
from colleague.agent.models.think import think
from colleague.config import Settings
from tests.integration.models.asking import LOOK_UP

TALK = """\
log: asked.jsonl
replies:
  - thinking: Who is this?
    text: One moment.
    calls:
      - operation: crm.get_contact
        arguments: {email: ada@example.com}
  - when: not found
    text: There is no Ada.
  - text: Ada is a customer.
"""


def script(folder: Path, text: str) -> ResolvedModel:
    (folder / "talk.yaml").write_text(text)
    return resolve_model(Settings(), {}, "script/talk.yaml", folder=folder)


def play(model: ResolvedModel, messages: list[ModelMessage], deltas: list[Delta] | None = None) -> Reply:
    request = ThinkRequest(messages, tools=[LOOK_UP])
    return asyncio.run(think(model, request, deltas.append if deltas is not None else None))


def asked(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]


def test_a_conversation(tmp_path: Path) -> None:
    model, deltas = script(tmp_path, TALK), list[Delta]()
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Who is Ada?")]
    first = play(model, messages, deltas)
    assert deltas == [
        ThinkingDelta(0, "Who "),
        ThinkingDelta(0, "is "),
        ThinkingDelta(0, "this?"),
        TextDelta(1, "One "),
        TextDelta(1, "moment."),
        ToolCallDelta(2, "script-1-1", "crm.get_contact", ""),
        ToolCallDelta(2, "script-1-1", "crm.get_contact", '{"email": "ada'),
        ToolCallDelta(2, "script-1-1", "crm.get_contact", '@example.com"}'),
    ]
    assert first.finish_reason == "tool_call"
    assert first.cost == 0
    call = first.tool_calls[0]
    messages += [
        first.response,
        ModelRequest([ToolReturnPart(call.tool_name, "a customer", call.tool_call_id)]),
    ]
    second = play(model, messages)
    assert (second.text, second.finish_reason) == ("Ada is a customer.", "stop")


def test_what_was_said_last_may_choose_the_reply(tmp_path: Path) -> None:
    model = script(tmp_path, TALK)
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Who is Ada?")]
    call = play(model, messages).tool_calls[0]
    result = {"error": "not found"}
    messages += [play(model, messages).response]
    messages += [ModelRequest([ToolReturnPart(call.tool_name, result, call.tool_call_id)])]
    assert play(model, messages).text == "There is no Ada."


def test_a_restart_makes_no_difference(tmp_path: Path) -> None:
    """All it remembers is the transcript."""
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Who is Ada?")]
    first = play(script(tmp_path, TALK), messages)
    again = play(script(tmp_path, TALK), messages)
    assert [part.args for part in first.tool_calls] == [part.args for part in again.tool_calls]
    assert first.tool_calls[0].tool_call_id == again.tool_calls[0].tool_call_id
    stored = from_json(to_json([*messages, first.response, ModelRequest.user_text_prompt("And?")]))
    assert play(script(tmp_path, TALK), stored).text == "Ada is a customer."
    assert [(line["answers"], line["reply"]) for line in asked(tmp_path)] == [(0, 1), (0, 1), (1, 3)]
    assert asked(tmp_path)[0]["last"] == "Who is Ada?"


def test_a_script_that_runs_out_says_so(tmp_path: Path) -> None:
    model = script(tmp_path, "- text: Hello\n")
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Hi")]
    messages += [play(model, messages).response, ModelRequest.user_text_prompt("Go on")]
    with pytest.raises(ModelFailure, match="no reply number 2; it has 1") as caught:
        play(model, messages)
    assert "talk.yaml" in caught.value.hint
    assert not caught.value.can_wait


@pytest.mark.parametrize("reason", ["auth", "billing", "rate_limit", "context_overflow", "server", "timeout"])
def test_an_error_is_raised_each_time(tmp_path: Path, reason: str) -> None:
    model = script(tmp_path, f"- error: {reason}\n")
    for _ in range(2):
        with pytest.raises(ModelFailure) as caught:
            play(model, [ModelRequest.user_text_prompt("Hi")])
        assert (caught.value.reason, caught.value.streamed) == (reason, False)


def test_an_error_that_passes_is_counted_in_the_log(tmp_path: Path) -> None:
    error = "error: {reason: rate_limit, retry_after: 3, times: 2}"
    text = f"log: asked.jsonl\nreplies:\n  - {error}\n    text: Hi\n"
    hello: list[ModelMessage] = [ModelRequest.user_text_prompt("Hi")]
    for _ in range(2):
        with pytest.raises(ModelFailure) as caught:
            play(script(tmp_path, text), hello)
        assert caught.value.retry_after == 3
    assert play(script(tmp_path, text), hello).text == "Hi"
    assert len(asked(tmp_path)) == 3


def test_a_cut_after_some_tokens(tmp_path: Path) -> None:
    model, deltas = (
        script(tmp_path, "- error: {reason: cut, after: 2}\n  text: one two three\n"),
        list[Delta](),
    )
    with pytest.raises(ModelFailure) as caught:
        play(model, [ModelRequest.user_text_prompt("Hi")], deltas)
    assert deltas == [TextDelta(0, "one "), TextDelta(0, "two ")]
    assert (caught.value.reason, caught.value.streamed) == ("cut", True)


def test_a_delay_can_be_cancelled(tmp_path: Path) -> None:
    model = script(tmp_path, "- {text: Hi, delay: 60}\n")

    async def main() -> None:
        task = asyncio.create_task(think(model, ThinkRequest([ModelRequest.user_text_prompt("Hi")])))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - started < 55


def test_a_delay_counts_towards_the_time_limit(tmp_path: Path) -> None:
    request = ThinkRequest([ModelRequest.user_text_prompt("Hi")], timeout_seconds=0.05)
    with pytest.raises(ModelFailure) as caught:
        asyncio.run(think(script(tmp_path, "- {text: Hi, delay: 60}\n"), request))
    assert caught.value.reason == "timeout"


def test_prices_and_window_of_a_script(tmp_path: Path) -> None:
    model = script(tmp_path, "context_window: 500\ncost: {output: 1000000}\nreplies:\n  - text: a b c\n")
    reply = play(model, [ModelRequest.user_text_prompt("Hi")])
    assert model.context_window == 500
    assert reply.cost == reply.usage.output_tokens > 0


def test_an_empty_answer(tmp_path: Path) -> None:
    assert play(script(tmp_path, '- text: ""\n'), [ModelRequest.user_text_prompt("Hi")]).text == ""


def test_a_bad_script_is_found_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"talk.yaml:1: "):
        script(tmp_path, "- txt: Hello\n")
    with pytest.raises(ScriptError, match="No such file"):
        resolve_model(Settings(), {}, f"script/{tmp_path}/nothing.yaml")
