"""What the killed programs act on: a model, a ledger and somebody who gets the result, over HTTP.

It kills the program that asks, with SIGKILL, at the one moment that it was told. Everybody has the same
model: it calls `append` once, and says "done" when it sees the result."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Moment = Literal["before the call", "in the call", "after the call", "before delivery"]
LINE = "one line"
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "append", "arguments": json.dumps({"line": LINE})},
}


@dataclass
class World:
    """What really happened. `pid` is the process that dies at `moment`; None: nobody does any more."""

    moment: Moment
    url: str = ""
    pid: int | None = None
    ledger: list[str] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    requests: int = 0
    killed: threading.Event = field(default_factory=threading.Event)

    def kill_at(self, moment: Moment) -> bool:
        if moment != self.moment or self.pid is None:
            return False
        os.kill(self.pid, signal.SIGKILL)
        self.pid = None
        self.killed.set()
        return True

    def think(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The message of the model."""
        self.requests += 1
        finished = any(each["role"] == "tool" for each in asked["messages"])
        self.kill_at("after the call" if finished else "before the call")
        if finished:
            return {"role": "assistant", "content": "done"}
        named = next(each["function"]["name"] for each in asked["tools"] if _appends(each))
        call = {**CALL, "function": {**CALL["function"], "name": named}}  # type: ignore[dict-item]
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def append(self, line: str) -> None:
        self.ledger.append(line)
        self.kill_at("in the call")

    def deliver(self, text: str) -> None:
        if not self.kill_at("before delivery"):
            self.delivered.append(text)


def _appends(tool: dict[str, Any]) -> bool:
    return str(tool["function"]["name"]).endswith("append")


class _Handler(BaseHTTPRequestHandler):
    world: World

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/chat/completions"):
            self._answer_model(asked, self.world.think(asked))
            return
        (self.world.append if self.path == "/ledger" else self.world.deliver)(asked["text"])
        self._send("application/json", b"{}")

    def _answer_model(self, asked: dict[str, Any], message: dict[str, Any]) -> None:
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        head = {"id": "c", "created": 1, "model": asked["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not asked.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            document = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send("application/json", json.dumps(document).encode())
            return
        calls = [{"index": 0, **each} for each in message.get("tool_calls", ())]
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        parts = [
            {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]},
            {
                **head,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
                "usage": usage,
            },
        ]
        lines = "".join(f"data: {json.dumps(each)}\n\n" for each in parts) + "data: [DONE]\n\n"
        self._send("text/event-stream", lines.encode())

    def _send(self, kind: str, body: bytes) -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # whoever asked is dead
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def open_world(moment: Moment) -> Iterator[World]:
    world = World(moment)
    handler = type("Handler", (_Handler,), {"world": world})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        world.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield world
        finally:
            server.shutdown()
