"""Following one run, from the moment a worker takes it until it lets go of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from colleague.agent.models.failure import ModelFailure
from colleague.agent.tracing import trajectory
from colleague.agent.tracing.chat_record import ChatRecord
from colleague.agent.tracing.guard import guarded
from colleague.agent.tracing.raw_stream import Pieces
from colleague.agent.tracing.record import Cleaner, Document, now
from colleague.agent.tracing.spans import usage_attributes

if TYPE_CHECKING:
    from colleague.agent.conversation import Conversation
    from colleague.agent.models.delta import Delta
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.models.resolved import ResolvedModel
    from colleague.agent.session import Session
    from colleague.agent.tracing.sinks import TraceSinks
    from colleague.agent.tracing.spans import ChatSpan, RunSpans
    from colleague.run_event import RunEvent
    from colleague.store.run import Run


@dataclass
class Totals:
    """What a run has used since it was taken."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0
    answers: int = 0
    tool_calls: int = 0

    def add(self, reply: Reply) -> None:
        self.answers += 1
        self.tool_calls += len(reply.tool_calls)
        self.input_tokens += reply.usage.input_tokens
        self.output_tokens += reply.usage.output_tokens
        self.cache_read_tokens += reply.usage.cache_read_tokens
        self.cache_write_tokens += reply.usage.cache_write_tokens
        self.cost += float(reply.cost or 0)


@dataclass
class RunTrace:
    """Turns what happens in a run into lines and spans. Nothing here waits for a disk."""

    run: Run
    sinks: TraceSinks
    spans: RunSpans | None = None
    cleaner: Cleaner = field(default_factory=Cleaner)
    totals: Totals = field(default_factory=Totals)
    _conversations: dict[str, Conversation] = field(default_factory=dict)
    _last_told: dict[str, list[Document]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _began: float = field(default_factory=time.monotonic)
    _ended: bool = False

    def begin(self) -> None:
        self.line(trajectory.run_line(self.run))

    def line(self, document: Document, *, transcript: str = "", cleaner: Cleaner | None = None) -> None:
        """One of the trajectory."""
        about: Document = {"at": now(), "run": self.run.id}
        if transcript:
            about["transcript"] = transcript
        kind = {"type": document.pop("type")}
        self.sinks.trajectory(self.run.session_key, kind | about | document, cleaner or self.cleaner)

    def asks(self, session: Session, request: ThinkRequest) -> ChatTraces:
        """A model is about to be asked, once or again and again."""
        self.joins(session)
        conversation = session.conversation
        self._tell_new(conversation.session, list(trajectory.told_lines(list(request.messages))))
        self._tell_settled(conversation)
        return ChatTraces(self, self.cleaner, conversation.session, request)

    def _tell_new(self, transcript: str, told: list[Document]) -> None:
        """A request that is made again, shorter than before, tells nothing new."""
        if told != self._last_told.get(transcript):
            self._last_told[transcript] = [each.copy() for each in told]
            for document in told:
                self.line(document, transcript=transcript)

    def joins(self, session: Session) -> None:
        """A session of the run; it may have private text and a model of its own."""
        self._conversations[session.conversation.session] = session.conversation
        private = session.run_spec.private or self.cleaner.private
        self.cleaner = replace(self.cleaner.knowing(session.run_spec.routes.first.secrets), private=private)
        if self.spans is not None:
            self.spans.cleaner = self.cleaner

    def _tell_settled(self, conversation: Conversation) -> None:
        """Calls of the last answer that were settled without being made."""
        newest = max((call.position for call in conversation.calls), default=-1)
        for call in conversation.calls:
            if call.position == newest and call.status in trajectory.UNTOLD and call.id not in self._told:
                self._told.add(call.id)
                self.line(trajectory.settled_line(call), transcript=conversation.session)

    def answers(self, reply: Reply, transcript: str) -> None:
        self.totals.add(reply)
        self._last_told.pop(transcript, None)

    def event(self, event: RunEvent) -> None:
        """Something was told to whoever watches."""
        transcript, tool_call_id = self._place_of(event.data.get("call_id", ""))
        if event.kind != "message_update":  # its text has come as a delta already
            self.sinks.raw(self._raw(event), self.cleaner)
        if (document := trajectory.event_line(event, tool_call_id)) is not None:
            self.line(document, transcript=transcript)
        if event.kind == "tool_execution_end":
            self._told.add(event.data["call_id"])
        if self.spans is not None:
            _span_event(self.spans, event, transcript, tool_call_id)
        if event.kind == "agent_end":
            self.end(event.data.get("outcome") or "unknown", str(event.data.get("text", "")))
        elif event.kind == "run_status" and event.data.get("status") in ("waiting", "retrying"):
            self._end_spans(event.data["status"], str(event.data.get("error", "")))

    def _raw(self, event: RunEvent) -> Document:
        about = {"at": now(), "run": self.run.id, "session": self.run.session_key}
        return about | {"event": event.kind} | event.data

    def _place_of(self, call_id: str) -> tuple[str, str]:
        """The transcript of a call, and what its model calls it."""
        for name, conversation in self._conversations.items() if call_id else ():
            for call in reversed(conversation.calls):
                if call.id == call_id:
                    return name, call.tool_call_id
        return "", ""

    def end(self, outcome: str, text: str = "") -> None:
        """The run has ended, or nobody here works on it any more."""
        if self._ended:
            return
        self._ended = True
        failed = outcome != "completed"
        self.line(
            {
                "type": "end",
                "outcome": outcome,
                **({"error": text} if failed else {}),
                "seconds": round(time.monotonic() - self._began, 3),
                "usage": vars(self.totals).copy(),
            }
        )
        self._end_spans(outcome, text)

    def _end_spans(self, outcome: str, text: str) -> None:
        if self.spans is None:
            return
        spans, self.spans = self.spans, None
        error = "" if outcome in ("completed", "waiting", "interrupted", "cancelled") else outcome
        used = self.totals
        tokens = usage_attributes(
            used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens
        )
        spans.ends(outcome, tokens, error=error, text=text)

    def leave(self, error: BaseException | None) -> None:
        """The worker lets go of the run: what has no end yet was interrupted, unless it waits."""
        if error is not None:
            self.end("interrupted", type(error).__name__)
        self._end_spans("interrupted", "")


def _span_event(spans: RunSpans, event: RunEvent, transcript: str, tool_call_id: str) -> None:
    data = event.data
    if event.kind == "tool_execution_start":
        spans.tool_begins(data["call_id"], data["operation"], transcript, tool_call_id)
    elif event.kind == "tool_execution_end":
        error = "tool_error" if data["is_error"] else ""
        spans.tool_ends(data["call_id"], error=error, text=f"{data['operation']} ended with an error")


@dataclass(frozen=True)
class ChatTraces:
    """Follows a request through all its tries."""

    trace: RunTrace
    cleaner: Cleaner
    session: str
    request: ThinkRequest

    @guarded
    def begin(self, model: ResolvedModel) -> ChatTrace:
        trace = self.trace
        trace.cleaner = trace.cleaner.knowing(model.secrets)
        record = ChatRecord(trace.run.id, trace.run.session_key, self.session, model, self.request)
        span = trace.spans.chat(model, self.session) if trace.spans is not None else None
        return ChatTrace(trace, self.cleaner.knowing(model.secrets), record, span)


@dataclass
class ChatTrace:
    """One try."""

    trace: RunTrace
    cleaner: Cleaner
    record: ChatRecord
    span: ChatSpan | None
    pieces: Pieces = field(default_factory=Pieces)

    def delta(self, delta: Delta) -> None:
        if self.trace.sinks.wants_pieces:
            self.pieces.add(delta)

    @guarded
    def answered(self, reply: Reply) -> None:
        self.trace.answers(reply, self.record.session)
        self._ends(replace(self.record, reply=reply))
        if self.span is not None:
            self.span.answered(reply)

    @guarded
    def failed(self, error: BaseException) -> None:
        text = _error_text(error)
        self._ends(replace(self.record, error=text))
        if self.span is not None:
            kind = error.reason if isinstance(error, ModelFailure) else type(error).__name__
            self.span.failed(kind, text)

    def _ends(self, record: ChatRecord) -> None:
        trace = self.trace
        trace.sinks.chat(record, self.pieces, self.cleaner)
        trace.line(trajectory.answer_line(record), transcript=record.session, cleaner=self.cleaner)


def _error_text(error: BaseException) -> str:
    found: Any = getattr(error, "message", None) or str(error)
    return f"{type(error).__name__}: {found}" if found else type(error).__name__
