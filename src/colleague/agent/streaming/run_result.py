"""What a run came to: what is to be told to people, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast, get_args

from colleague.agent.streaming.answer import ModelAnswer, read_answer
from colleague.run_document import (
    CallDocument,
    ErrorKind,
    PayloadDocument,
    PendingCall,
    RunDocument,
    RunErrorDocument,
    RunResultDocument,
    SentMessageDocument,
)
from colleague.store.report import AnswerText
from colleague.store.run import Run

_MESSAGE = "message"
_SENDS = ("send", "thread-reply")
_COMPLETE = "complete"


def run_result(run: Run, document: RunDocument, answers: Sequence[AnswerText]) -> RunResultDocument | None:
    """None while the run has not come to anything yet."""
    if run.status not in ("done", "waiting"):
        return None
    said = _answers(document, answers)
    return {
        "payloads": [*(_payload(each) for each in said if not each.is_empty), *_error_payloads(run)],
        "silent": said[-1].token if said and said[-1].is_silent else None,
        "duration_ms": _duration_ms(document),
        "aborted": run.outcome == "cancelled",
        "stop_reason": _stop_reason(run, answers),
        "error": _error(run),
        "pending_tool_calls": [_pending(call) for call in document["calls"] if _is_pending(call)],
        "sent": [sent for call in document["calls"] if not call["taken_from"] and (sent := _sent(call))],
        "session_id": run.transcript,
    }


def _answers(document: RunDocument, answers: Sequence[AnswerText]) -> list[ModelAnswer]:
    """The answers of an agent; of an expert the result alone, which its last call tells."""
    if document["kind"] != "expert":
        return [read_answer(each.text) for each in answers]
    told = [call["arguments"] for call in document["calls"] if call["operation"] == _COMPLETE]
    raw = [each["narrative"] for each in told if isinstance(each, dict) and each.get("narrative")]
    narrative = document["narrative"]
    return [read_answer(str(raw[-1]) if raw else narrative)] if narrative else []


def _payload(answer: ModelAnswer) -> PayloadDocument:
    return {
        "text": answer.text,
        "media": list(answer.media),
        "reply_to": answer.reply_to,
        "as_voice": answer.as_voice,
        "is_error": False,
    }


def _error_payloads(run: Run) -> list[PayloadDocument]:
    if run.status != "done" or run.outcome in ("completed", "cancelled") or not run.error:
        return []
    return [{"text": run.error, "media": [], "reply_to": None, "as_voice": False, "is_error": True}]


def _duration_ms(document: RunDocument) -> int | None:
    began = document["attempts"][0]["started_at"] if document["attempts"] else None
    ended = document["ended_at"]
    if began is None or ended is None:
        return None
    took = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return max(0, round(took.total_seconds() * 1000))


def _stop_reason(run: Run, answers: Sequence[AnswerText]) -> str:
    if run.status == "waiting":
        return "waiting"
    if run.outcome == "cancelled":
        return "aborted"
    if run.outcome != "completed":
        return "error"
    return (answers[-1].finish_reason if answers else None) or "stop"


def _error(run: Run) -> RunErrorDocument | None:
    if run.status != "done" or run.outcome == "completed" or not run.error:
        return None
    known = run.error_kind if run.error_kind in get_args(ErrorKind) else None
    return {"kind": cast("ErrorKind | None", known), "message": run.error}


def _is_pending(call: CallDocument) -> bool:
    return call["result"] is None or call["status"] == "parked"


def _pending(call: CallDocument) -> PendingCall:
    return {"id": call["id"], "name": call["operation"], "arguments": call["arguments"]}


def _sent(call: CallDocument) -> SentMessageDocument | None:
    """What the agent wrote to people elsewhere than in its answer."""
    said = call["arguments"]
    done = call["status"] == "finished" and not call["is_error"]
    if call["operation"] != _MESSAGE or not done or said.get("action") not in _SENDS:
        return None
    return {
        "channel": str(said.get("channel") or ""),
        "to": str(said.get("to") or ""),
        "thread": str(said.get("thread") or ""),
        "text": str(said.get("text") or ""),
    }
