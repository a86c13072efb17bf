"""What one listener wants to be told of a run: callbacks, and how much of what is thought and done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from colleague.block_chunker import BlockChunker, BlockChunking
from colleague.block_coalescer import BlockCoalescer, Coalescing
from colleague.reply_words import PartialReply, ReplyWords
from colleague.run_document import ReasoningMode, VerboseLevel
from colleague.run_event import RunEvent
from colleague.verbosity import shows_reasoning, streams_reasoning, tells_calls, tells_results

if TYPE_CHECKING:
    from colleague.config.agents import AgentDefaults

BlockBreak = Literal["text_end", "message_end"]
Pieces = Literal["never", "from_start", "always"]
"""Whether an answer is told while it comes: only when it is complete, when its beginning was heard, or also
from its middle on."""


@dataclass(frozen=True)
class ReplyPart:
    """A part of an answer. `reply_to` is `current`, or the id of a message."""

    text: str = ""
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    as_voice: bool = False


@dataclass(frozen=True)
class BlockStreaming:
    """Answers in blocks: as they are written, or all at the end of the message."""

    chunking: BlockChunking = field(default_factory=BlockChunking)
    coalescing: Coalescing = field(default_factory=Coalescing)
    break_at: BlockBreak = "text_end"

    @classmethod
    def of(cls, defaults: AgentDefaults) -> BlockStreaming:
        chunk, joined = defaults.block_streaming_chunk, defaults.block_streaming_coalesce
        chunking = BlockChunking(chunk.min_chars, chunk.max_chars, chunk.break_preference)
        coalescing = Coalescing(joined.min_chars, joined.max_chars, joined.idle_ms, chunking.joint)
        return cls(chunking, coalescing, defaults.block_streaming_break)


@dataclass(frozen=True)
class Callbacks:
    """Whatever is not given is not told."""

    on_partial_reply: Callable[[PartialReply], None] | None = None
    """Nothing is told twice, also when a model is asked again."""
    on_taken_back: Callable[[str], str] | None = None
    """What was told of an answer may not be part of it. Returns what the listener cannot take back; without
    this callback, that is all of it."""
    on_block_reply: Callable[[ReplyPart], None] | None = None
    """A part of an answer that can be sent as a message; the last one has what comes with the answer."""
    on_reasoning_stream: Callable[[str], None] | None = None
    on_tool_result: Callable[[dict[str, Any]], None] | None = None
    """What came of a call (`ToolExecutionEnd`), as far as the level allows."""
    on_agent_event: Callable[[RunEvent], None] | None = None
    """Every event, as far as the levels allow. `RunEvent.stream` says what it is about."""


class EventSubscription:
    """Turns the events of a run, one after another, into what a listener is told."""

    def __init__(
        self,
        callbacks: Callbacks,
        *,
        reasoning: ReasoningMode = "off",
        verbose: VerboseLevel = "off",
        pieces: Pieces = "from_start",
        blocks: BlockStreaming | None = None,
        now_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._callbacks = callbacks
        self._reasoning = reasoning
        self._verbose = verbose
        self._pieces = pieces
        self._blocks = blocks or BlockStreaming()
        self._now_ms = now_ms
        self._begin()
        self._begin_blocks()

    def _begin(self, kept: str = "", *, heard: bool = False) -> None:
        """Another answer comes, or the same one again. `heard`: from its beginning on."""
        self._words = ReplyWords(kept)
        self._heard = heard
        self._thoughts: list[str] = []
        self._thought = False

    def _begin_blocks(self) -> None:
        self._chunker = BlockChunker(self._blocks.chunking)
        self._coalescer = BlockCoalescer(self._blocks.coalescing)

    def take(self, event: RunEvent) -> None:
        """Tells what an event means for this listener."""
        told = self._as_told(event)
        if told is not None and self._callbacks.on_agent_event is not None:
            self._callbacks.on_agent_event(told)
        if event.kind == "message_start":
            self._begin(heard=True)
        elif event.kind == "message_retry":
            self._begin(self._taken_back(), heard=True)
        elif event.kind == "gateway_lost":
            self._begin()
        elif event.kind == "message_update":
            self._update(event.data)
        elif event.kind == "message_end":
            self._end(event.data)
        elif event.kind == "tool_execution_end" and told is not None:
            self._tool_result(told.data)

    def idle(self) -> None:
        """Nothing happens: small blocks have waited long enough."""
        for block in self._coalescer.idle(self._now_ms()):
            self._send(ReplyPart(block))

    def _as_told(self, event: RunEvent) -> RunEvent | None:
        """The event with what the levels leave of it."""
        data = event.data
        if event.kind == "message_update" and "thinking" in data and not streams_reasoning(self._reasoning):
            return None
        if event.kind == "message_end" and not shows_reasoning(self._reasoning):
            return replace(event, data=data | {"reasoning": ""})
        if event.stream != "tool" or tells_results(self._verbose) or _matters(data):
            return event
        if not tells_calls(self._verbose) or event.kind == "tool_execution_update":
            return None
        return replace(event, data=data | {"result": ""}) if "result" in data else event

    def _update(self, data: dict[str, Any]) -> None:
        if "thinking" in data and shows_reasoning(self._reasoning):
            self._think(data["thinking"])
        if data.get("void"):
            self._taken_back()
            self._words = ReplyWords()
        if data.get("text") and (self._pieces == "always" or (self._heard and self._pieces == "from_start")):
            self._end_thought()
            self._tell(self._words.add(data["text"]))

    def _end(self, data: dict[str, Any]) -> None:
        text = str(data.get("text") or "")
        if shows_reasoning(self._reasoning) and not self._thought:
            self._thoughts = [str(data.get("reasoning") or "")]
        self._end_thought()
        if not self._words.is_told_of(text):
            self._words = ReplyWords(self._taken_back())
        self._tell(self._words.end(text))
        if self._blocks.break_at == "message_end":
            self._chunk(self._chunker.add(text))
        self._chunk(self._chunker.finish())
        self._send_last(self._coalescer.finish(), data)
        self._begin()
        self._begin_blocks()

    def _think(self, text: str) -> None:
        """Told as it comes, or when it is complete: before the words that follow it."""
        self._thought = True
        self._thoughts.append(text)
        if streams_reasoning(self._reasoning):
            self._end_thought()

    def _end_thought(self) -> None:
        text, self._thoughts = "".join(self._thoughts), []
        if text and self._callbacks.on_reasoning_stream is not None:
            self._callbacks.on_reasoning_stream(text)

    def _taken_back(self) -> str:
        """What the listener keeps of what it was told."""
        told = self._words.told
        return told if self._callbacks.on_taken_back is None else self._callbacks.on_taken_back(told)

    def _tell(self, part: PartialReply | None) -> None:
        if part is None:
            return
        if part.begins:
            self._begin_blocks()
        if self._callbacks.on_partial_reply is not None:
            self._callbacks.on_partial_reply(part)
        if self._blocks.break_at == "text_end":
            self._chunk(self._chunker.add(part.text))

    def _chunk(self, blocks: list[str]) -> None:
        now = self._now_ms()
        for block in blocks:
            for full in self._coalescer.add(block, now):
                self._send(ReplyPart(full))

    def _send_last(self, left: list[str], data: dict[str, Any]) -> None:
        media = tuple(data.get("media") or ())
        last = ReplyPart("".join(left), media, data.get("reply_to"), bool(data.get("as_voice")))
        if last != ReplyPart():
            self._send(last)

    def _send(self, part: ReplyPart) -> None:
        if self._callbacks.on_block_reply is not None:
            self._callbacks.on_block_reply(part)

    def _tool_result(self, data: dict[str, Any]) -> None:
        if self._callbacks.on_tool_result is not None:
            self._callbacks.on_tool_result(data)


def _matters(data: dict[str, Any]) -> bool:
    """What went wrong, or waits for a person, is told at any level."""
    return bool(data.get("is_error")) or data.get("status") == "parked"
