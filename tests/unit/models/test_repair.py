"""Transcripts in an order that providers refuse, and any at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from colleague.agent.models.repair import LOST, needs_repair, repaired

ids = st.sampled_from(["c-1", "c-2", "c-3"])
requests = st.lists(
    st.one_of(
        st.text(max_size=5).map(lambda text: UserPromptPart(content=text)),
        ids.map(lambda each: ToolReturnPart("ls", "found", tool_call_id=each)),
    ),
    max_size=3,
).map(lambda parts: ModelRequest(parts=parts))
responses = st.lists(
    st.one_of(
        st.text(max_size=5).map(lambda text: TextPart(text)),
        ids.map(lambda each: ToolCallPart("ls", {}, tool_call_id=each)),
    ),
    max_size=3,
    unique_by=lambda part: getattr(part, "tool_call_id", id(part)),
).map(lambda parts: ModelResponse(parts=parts))


def check(messages: Sequence[ModelMessage]) -> None:
    assert messages[0].kind == messages[-1].kind == "request"
    for before, after in pairwise(messages):
        assert before.kind != after.kind
    for before, after in zip([None, *messages], messages, strict=False):
        if after.kind != "request":
            continue
        results = [part.tool_call_id for part in after.parts if isinstance(part, ToolReturnPart)]
        calls = before.tool_calls if isinstance(before, ModelResponse) else []
        assert results == list(dict.fromkeys(call.tool_call_id for call in calls))


@given(st.lists(st.one_of(requests, responses), max_size=8))
def test_whatever_comes_in_is_in_order_afterwards(messages: list[ModelMessage]) -> None:
    made = repaired(messages)
    check(made)
    assert not needs_repair(made)


def test_nothing_that_was_said_is_lost() -> None:
    messages: list[ModelMessage] = [
        ModelResponse(parts=[ToolCallPart("ls", {}, tool_call_id="c-1")]),
        ModelRequest(parts=[UserPromptPart(content="Hello")]),
        ModelRequest(parts=[ToolReturnPart("read", "text of a file", tool_call_id="gone")]),
    ]
    told = str(repaired(messages))
    assert all(words in told for words in ("Hello", "text of a file", LOST))
