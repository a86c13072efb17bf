"""What OpenAI's chat completions look like on the wire."""

from __future__ import annotations

from typing import Any

from tests.integration.models.server import sse

DONE = sse("[DONE]")


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767225600, "model": "m1"}
    return sse({**head, "choices": [choice]})


def usage(prompt: int = 100, completion: int = 20, cached: int = 0) -> str:
    counted = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767225600, "model": "m1"}
    return sse({**head, "choices": [], "usage": counted})


def spoken(*words: str) -> list[str]:
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words)]


def said(*words: str) -> list[str]:
    """A whole answer of text."""
    return [*spoken(*words), chunk({}, "stop"), usage(), DONE]


def whole(text: str) -> dict[str, Any]:
    """An answer that is not streamed."""
    message = {"role": "assistant", "content": text}
    counted = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": "m1"}
    return {**head, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": counted}


def call(index: int, arguments: str, *, name: str = "", call_id: str = "") -> str:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    head = {"id": call_id, "type": "function"} if call_id else {}
    return chunk({"tool_calls": [{"index": index, **head, "function": function}]})


def error(message: str, *, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
