"""A server that speaks the wire format of every provider: the first answer calls a tool, the next is text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integration.models import anthropic_wire, openai_wire
from tests.integration.models.server import sse

TOOL = "ls"
ARGUMENTS = '{"path": "."}'
CALL_ID = "call_01"
ANSWER = "There is a file."


@dataclass
class Seen:
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Provider:
    url: str
    seen: list[Seen] = field(default_factory=list)


def anthropic(first: bool) -> list[str]:
    start = anthropic_wire.started()
    if first:
        return [start, *anthropic_wire.tool_use(0, TOOL, ARGUMENTS), *anthropic_wire.ended("tool_use")]
    return [start, *anthropic_wire.text(0, ANSWER), *anthropic_wire.ended()]


def chat(first: bool) -> list[str]:
    if not first:
        return openai_wire.said(ANSWER)
    call = openai_wire.call(0, ARGUMENTS, name=TOOL, call_id=CALL_ID)
    return [call, openai_wire.chunk({}, "tool_calls"), openai_wire.usage(), openai_wire.DONE]


def openrouter(first: bool) -> list[str]:
    """With the comments that it sends while a model is waited for."""
    return [": OPENROUTER PROCESSING\n\n", *chat(first)]


def ollama(first: bool) -> list[str]:
    """It gives the whole call at once, and counts nothing unless it is asked to."""
    return chat(first)


def responses(first: bool) -> list[str]:
    item: dict[str, Any]
    if first:
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": CALL_ID,
            "name": TOOL,
            "status": "completed",
        }
        item["arguments"] = ARGUMENTS
        begun, change = {**item, "arguments": ""}, "response.function_call_arguments.delta"
        delta: dict[str, Any] = {"item_id": "fc_1", "output_index": 0, "delta": ARGUMENTS}
    else:
        content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        begun, change = {**item, "content": []}, "response.output_text.delta"
        delta = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": [], "delta": ANSWER}
    return [
        _event("response.created", response=_response("in_progress")),
        _event("response.output_item.added", output_index=0, item=begun),
        _event(change, **delta),
        _event("response.output_item.done", output_index=0, item=item),
        _event("response.completed", response=_response("completed", item)),
    ]


def _event(kind: str, **more: Any) -> str:
    return sse({"type": kind, "sequence_number": 0, **more}, kind)


def _response(status: str, *output: dict[str, Any]) -> dict[str, Any]:
    counted = {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 35,
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1767225600, "model": "m1", "tools": []}
    return head | {
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "usage": counted,
        "status": status,
        "output": list(output),
    }


def gemini(first: bool) -> list[str]:
    call = {"functionCall": {"name": TOOL, "args": json.loads(ARGUMENTS)}}
    candidate = {
        "content": {"role": "model", "parts": [call if first else {"text": ANSWER}]},
        "index": 0,
        "finishReason": "STOP",
    }
    counted = {"promptTokenCount": 30, "candidatesTokenCount": 5, "totalTokenCount": 35}
    return [
        sse({"candidates": [candidate], "usageMetadata": counted, "responseId": "r1", "modelVersion": "m1"})
    ]


@contextmanager
def provider(answer: Any) -> Iterator[Provider]:
    seen: list[Seen] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.append(Seen(self.path, headers, body))
            has_tools = bool(body.get("tools"))
            data = "".join(answer(has_tools and not answered(body))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Provider(f"http://127.0.0.1:{server.server_port}", seen)
        server.shutdown()


def answered(body: dict[str, Any]) -> bool:
    """Whether the request brings the result of a call, in any of the formats."""
    text = json.dumps(body)
    marks = ('"tool_result"', '"role": "tool"', '"function_call_output"', '"functionResponse"')
    return any(mark in text for mark in marks)
