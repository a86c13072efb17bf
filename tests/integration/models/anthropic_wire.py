"""What Anthropic's messages look like on the wire."""

from __future__ import annotations

from typing import Any

from tests.integration.models.server import sse

STOPPED = sse({"type": "message_stop"}, "message_stop")


def started(*, read: int = 0, written: int = 0) -> str:
    counted = {
        "input_tokens": 50,
        "output_tokens": 1,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counted,
    }
    return sse({"type": "message_start", "message": message}, "message_start")


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[str]:
    def event(kind: str, **more: Any) -> str:
        return sse({"type": kind, "index": index, **more}, kind)

    return [
        event("content_block_start", content_block=start),
        *(event("content_block_delta", delta=delta) for delta in deltas),
        event("content_block_stop"),
    ]


def text(index: int, *words: str) -> list[str]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": w} for w in words))


def thinking(index: int, *words: str) -> list[str]:
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": word} for word in words]
    signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def tool_use(index: int, name: str, *pieces: str) -> list[str]:
    start = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    return block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def ended(reason: str = "end_turn", output: int = 20) -> list[str]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    event = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}
    return [sse(event, "message_delta"), STOPPED]


def error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}
