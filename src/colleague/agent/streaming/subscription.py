"""What one listener wants to be told of a run: callbacks, and how much of what is thought and done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from colleague.agent.streaming.block_coalescer import BlockCoalescer, Coalescing
from colleague.block_chunker import BlockChunker, BlockChunking
from colleague.config.agents import AgentDefaults
from colleague.run_document import ReasoningMode, VerboseLevel
from colleague.run_event import RunEvent
from colleague.verbosity import shows_reasoning, streams_reasoning, tells_calls, tells_results

BlockBreak = Literal["text_end", "message_end"]


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

    on_partial_reply: Callable[[ReplyPart], None] | None = None
    """More words of an answer."""
    on_block_reply: Callable[[ReplyPart], None] | None = None
    """A part of an answer that can be sent as a message; the last one has what comes with the answer."""
    on_reasoning_stream: Callable[[str], None] | None = None
    on_tool_result: Callable[[str], None] | None = None
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
        blocks: BlockStreaming | None = None,
        now_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._callbacks = callbacks
        self._reasoning = reasoning
        self._verbose = verbose
        self._blocks = blocks or BlockStreaming()
        self._now_ms = now_ms
        self._begin()

    def _begin(self) -> None:
        """Another answer comes, or the same one again."""
        self._told: list[str] = []
        self._thought = False
        self._chunker = BlockChunker(self._blocks.chunking)
        self._coalescer = BlockCoalescer(self._blocks.coalescing)

    def take(self, event: RunEvent) -> None:
        """Tells what an event means for this listener."""
        told = self._as_told(event)
        if told is not None and self._callbacks.on_agent_event is not None:
            self._callbacks.on_agent_event(told)
        if event.kind in ("message_start", "message_retry"):
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
        if "thinking" in data and streams_reasoning(self._reasoning):
            self._thought = True
            self._tell_reasoning(data["thinking"])
        if data.get("void"):
            self._begin()
        if data.get("text"):
            self._add(data["text"])
            if self._blocks.break_at == "text_end":
                self._chunk(self._chunker.add(data["text"]))

    def _end(self, data: dict[str, Any]) -> None:
        text = str(data.get("text") or "")
        if shows_reasoning(self._reasoning) and not self._thought:
            self._tell_reasoning(str(data.get("reasoning") or ""))
        if not text.startswith("".join(self._told)):
            self._begin()
        rest = text[sum(map(len, self._told)) :]
        self._add(rest)
        said = rest if self._blocks.break_at == "text_end" else text
        self._chunk([*self._chunker.add(said), *self._chunker.finish()])
        self._send_last(self._coalescer.finish(), data)
        self._begin()

    def _add(self, text: str) -> None:
        self._told.append(text)
        if text and self._callbacks.on_partial_reply is not None:
            self._callbacks.on_partial_reply(ReplyPart(text))

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

    def _tell_reasoning(self, text: str) -> None:
        if text and self._callbacks.on_reasoning_stream is not None:
            self._callbacks.on_reasoning_stream(text)

    def _tool_result(self, data: dict[str, Any]) -> None:
        if self._callbacks.on_tool_result is not None:
            result = str(data.get("result") or "")
            line = f"{data['operation']}: {data.get('status') or 'finished'}"
            self._callbacks.on_tool_result(f"{line}\n{result}" if result else line)


def _matters(data: dict[str, Any]) -> bool:
    """What went wrong, or waits for a person, is told at any level."""
    return bool(data.get("is_error")) or data.get("status") == "parked"
