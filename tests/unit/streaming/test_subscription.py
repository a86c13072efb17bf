from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given

from colleague.agent.models.delta import TextDelta, ThinkingDelta, ToolCallDelta
from colleague.agent.streaming.answer import AnswerReader, read_answer
from colleague.agent.streaming.payloads import message_end, message_updates
from colleague.block_chunker import BlockChunking
from colleague.block_coalescer import Coalescing
from colleague.event_subscription import BlockStreaming, Callbacks, EventSubscription, ReplyPart
from colleague.reply_words import PartialReply
from colleague.run_event import Kind, RunEvent

from .splits import ANSWERS, CUTS, split

SMALL = BlockStreaming(BlockChunking(5, 40))


@dataclass
class Heard:
    """A listener that remembers."""

    texts: list[str] = field(default_factory=list)
    blocks: list[ReplyPart] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)
    events: list[RunEvent] = field(default_factory=list)

    def subscribe(self, **options: Any) -> EventSubscription:
        return EventSubscription(
            Callbacks(
                on_partial_reply=self._partial,
                on_block_reply=self.blocks.append,
                on_reasoning_stream=self.reasoning.append,
                on_tool_result=lambda data: self.results.append((data["operation"], data["result"])),
                on_agent_event=self.events.append,
            ),
            **options,
        )

    def _partial(self, part: PartialReply) -> None:
        self.texts.append(f"|{part.text}" if part.begins and self.texts else part.text)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def event(kind: Kind, **data: Any) -> RunEvent:
    return RunEvent(kind, "run", data)


def answer_events(pieces: list[str]) -> list[RunEvent]:
    """As a run tells an answer that comes in these pieces."""
    reader = AnswerReader()
    updates = [update for piece in pieces for update in message_updates(reader.add(TextDelta(0, piece)))]
    end = message_end(read_answer("".join(pieces)))
    return [
        event("message_start", turn=1),
        *(event("message_update", **each) for each in updates),
        event("message_end", **end),
    ]


@given(ANSWERS, CUTS)
def test_what_is_told_piece_by_piece_is_the_answer(answer: str, cuts: list[int]) -> None:
    heard, whole = Heard(), Heard()
    for listener, pieces in ((heard, split(answer, cuts)), (whole, [answer])):
        subscription = listener.subscribe(blocks=SMALL)
        for each in answer_events(pieces):
            subscription.take(each)
    shown = read_answer(answer)
    assert heard.text.endswith(shown.text)
    if "final" not in answer:
        assert heard.text == shown.text
        assert heard.blocks == whole.blocks
    for token in ("NO_REPLY", "HEARTBEAT_OK"):
        assert token in shown.text or token not in heard.text or "final" in answer


def test_an_answer_told_twice_is_heard_once_in_the_end() -> None:
    heard = Heard()
    subscription = heard.subscribe()
    for each in (
        event("message_start", turn=1),
        event("message_update", text="Half an"),
        event("message_retry"),
        event("message_update", text="All of it"),
        event("message_end", text="All of it."),
    ):
        subscription.take(each)
    assert heard.text == "Half an|All of it."
    assert heard.blocks == [ReplyPart("All of it.")]


def test_an_answer_that_broke_off_goes_on_where_it_was_heard() -> None:
    heard = Heard()
    subscription = heard.subscribe(blocks=SMALL)
    for each in (
        event("message_start", turn=1),
        event("message_update", text="One paragraph.\n\nHalf"),
        event("message_retry"),
        event("message_update", text="One para"),
        event("message_update", text="graph.\n\nHalf an answer"),
        event("message_end", text="One paragraph.\n\nHalf an answer."),
    ):
        subscription.take(each)
    assert heard.text == "One paragraph.\n\nHalf an answer."
    assert [part.text for part in heard.blocks] == ["One paragraph.", "Half an answer."]


@pytest.mark.parametrize(
    ("pieces", "told"), [("from_start", "One two."), ("never", "One two."), ("always", "two|One two.")]
)
def test_an_answer_whose_beginning_was_missed_is_told_whole(pieces: str, told: str) -> None:
    heard = Heard()
    subscription = heard.subscribe(pieces=pieces)
    subscription.take(event("message_update", text="two"))
    assert heard.text == ("two" if pieces == "always" else "")
    subscription.take(event("message_end", text="One two."))
    assert heard.text == told


def test_a_listener_says_what_it_cannot_take_back() -> None:
    heard: list[PartialReply] = []
    callbacks = Callbacks(on_partial_reply=heard.append, on_taken_back=lambda told: told[:4])
    subscription = EventSubscription(callbacks)
    for each in (
        event("message_start", turn=1),
        event("message_update", text="One two"),
        event("message_retry"),
        event("message_update", text="One three"),
    ):
        subscription.take(each)
    assert heard == [PartialReply("One two", begins=True), PartialReply("three", begins=False)]


def test_reasoning_is_told_whole_as_it_comes_or_not_at_all() -> None:
    told = {}
    for mode in ("off", "on", "stream"):
        heard = Heard()
        subscription = heard.subscribe(reasoning=mode)
        for each in answer_events(["<think>a", "b</think>", "c"]):
            subscription.take(each)
        told[mode] = heard.reasoning
        updates = [each for each in heard.events if "thinking" in each.data]
        assert bool(updates) == (mode == "stream")
    assert told == {"off": [], "on": ["ab"], "stream": ["a", "b"]}


def test_tool_results_by_level() -> None:
    ended = {"call_id": "c", "operation": "ls", "status": "finished", "result": "a.md", "is_error": False}
    failed = ended | {"is_error": True, "result": "no such folder"}
    told = {}
    for level in ("off", "on", "full"):
        heard = Heard()
        subscription = heard.subscribe(verbose=level)
        subscription.take(event("tool_execution_end", **ended))
        subscription.take(event("tool_execution_end", **failed))
        told[level] = heard.results
    wrong = ("ls", "no such folder")
    assert told == {"off": [wrong], "on": [("ls", ""), wrong], "full": [("ls", "a.md"), wrong]}


def test_blocks_wait_for_the_message_or_for_each_other() -> None:
    heard = Heard()
    subscription = heard.subscribe(blocks=BlockStreaming(BlockChunking(1, 40), break_at="message_end"))
    *parts, end = answer_events(["One.\n\n", "Two.\n\n", "Three. [[media:x]]"])
    for each in parts:
        subscription.take(each)
    assert heard.blocks == []
    subscription.take(end)
    assert [part.text for part in heard.blocks] == ["One.", "Two.", "Three.", ""]
    assert heard.blocks[-1].media == ("x",)

    joined, clock = Heard(), [0.0]
    blocks = BlockStreaming(BlockChunking(1, 40), Coalescing(min_chars=30, idle_ms=500))
    subscription = joined.subscribe(blocks=blocks, now_ms=lambda: clock[0])
    for each in parts:
        subscription.take(each)
    subscription.idle()
    assert joined.blocks == []
    clock[0] = 600
    subscription.idle()
    assert [part.text for part in joined.blocks] == ["One.\n\nTwo."]


def test_thinking_and_calls_between_texts_make_paragraphs() -> None:
    reader = AnswerReader()
    deltas = [
        TextDelta(0, "One."),
        ThinkingDelta(1, "hm"),
        ToolCallDelta(2, "c", "ls", "{}"),
        TextDelta(3, "Two"),
        TextDelta(3, "."),
    ]
    told = [reader.add(each) for each in deltas]
    assert "".join(each.text for each in told) == "One.\n\nTwo."
    assert told[1].reasoning == "hm"


def _seconds(pieces: list[str], times: int) -> float:
    reader, subscription = AnswerReader(), Heard().subscribe(blocks=BlockStreaming())
    began = time.process_time()
    for _ in range(times):
        for piece in pieces:
            for update in message_updates(reader.add(TextDelta(0, piece))):
                subscription.take(event("message_update", **update))
    return time.process_time() - began


@pytest.mark.parametrize(
    "pieces", [["word", " "], ["\n"], ["*"], ["NO_", "REPLY", "\n"], ["<think>", "a"], ["* "]]
)
def test_a_long_answer_costs_as_much_for_each_piece_as_a_short_one(pieces: list[str]) -> None:
    short = min(_seconds(pieces, 500) for _ in range(3))
    assert _seconds(pieces, 5_000) < 40 * short


def test_streams_of_events() -> None:
    kinds: list[tuple[Kind, str]] = [
        ("agent_start", "lifecycle"),
        ("agent_end", "lifecycle"),
        ("run_status", "lifecycle"),
        ("auto_compaction_start", "compaction"),
        ("message_update", "assistant"),
        ("block_reply", "assistant"),
        ("tool_execution_end", "tool"),
        ("approval_requested", "approval"),
    ]
    assert all(event(kind).stream == stream for kind, stream in kinds)
