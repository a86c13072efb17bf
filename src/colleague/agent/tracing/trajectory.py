"""A run as lines: what it was told, what its model said, what it did, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from colleague.agent.tracing.chat_record import ChatRecord
from colleague.agent.tracing.record import Document

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from colleague.run_event import RunEvent
    from colleague.store.journal import Call
    from colleague.store.run import Run

UNTOLD = ("refused", "drafted", "described", "not_run", "parked")
"""How calls end that are never made; no event tells of them."""


def run_line(run: Run) -> Document:
    return {
        "type": "run",
        "kind": run.kind,
        "agent": run.expert,
        "process": run.process or None,
        "attempt": run.attempt,
        "parent_run": run.parent_run,
    }


def told_lines(messages: list[ModelMessage]) -> Iterator[Document]:
    """What people, or the framework, have said since the last answer."""
    for message in _after_last_answer(messages):
        for part in message.parts:
            if part.part_kind == "user-prompt":
                yield {"type": "message", "role": "user", "content": _content(part.content)}


def _after_last_answer(messages: list[ModelMessage]) -> list[Any]:
    answers = [place for place, message in enumerate(messages) if message.kind == "response"]
    return list(messages[answers[-1] + 1 :]) if answers else list(messages)


def _content(content: Any) -> Any:
    """Text, or text and the names of pictures."""
    if isinstance(content, str):
        return content
    return [each if isinstance(each, str) else f"[{type(each).__name__}]" for each in content]


def answer_line(chat: ChatRecord) -> Document:
    """The model's own words, as they came."""
    if chat.reply is None:
        return {"type": "failure", "model": chat.model.name, "error": chat.error}
    response = chat.reply.response
    thinking = "".join(part.content for part in response.parts if part.part_kind == "thinking")
    calls = [
        {"id": call.tool_call_id, "name": call.tool_name, "arguments": _arguments(call.args)}
        for call in chat.reply.tool_calls
    ]
    return {
        "type": "message",
        "role": "assistant",
        "model": chat.model.name,
        "content": chat.reply.text,
        **({"thinking": thinking} if thinking else {}),
        **({"tool_calls": calls} if calls else {}),
        **chat.outcome(),
    }


def _arguments(arguments: Any) -> Any:
    """As JSON where the model wrote JSON, else its text."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def settled_line(call: Call) -> Document:
    """A call that was not made."""
    result = json.loads(call.result or "{}")
    return {
        "type": "tool_result",
        "id": call.tool_call_id,
        "call": call.id,
        "name": call.operation,
        "status": call.status,
        "is_error": call.is_error,
        "content": "[private]" if result.get("private") else result.get("text", ""),
    }


def event_line(event: RunEvent, tool_call_id: str) -> Document | None:
    """The line of an event; None for those that other lines tell."""
    data = event.data
    if event.kind == "tool_execution_start":
        return _call("tool_call", data, tool_call_id) | {"arguments": data["arguments"]}
    if event.kind == "tool_execution_end":
        about = {"status": data["status"], "is_error": data["is_error"], "content": data["result"]}
        return _call("tool_result", data, tool_call_id) | about
    if event.kind == "approval_requested":
        keys = ("approval_id", "question", "operation", "arguments")
        return {"type": "approval"} | {key: data.get(key) for key in keys}
    if event.kind == "message_retry":
        keys = ("model", "error", "attempt", "in_ms")
        return {"type": "retry"} | {key: data.get(key) for key in keys}
    if event.kind == "run_status" and data.get("status") in ("waiting", "retrying"):
        return {"type": "pause"} | data
    return None


def _call(kind: str, data: Document, tool_call_id: str) -> Document:
    return {"type": kind, "id": tool_call_id, "call": data["call_id"], "name": data["operation"]}
