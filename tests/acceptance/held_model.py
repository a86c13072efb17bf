"""A model server that answers a request when the test says so, and remembers what it was told."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from colleague.agent.models.late_tail import HEAD
from tests.integration.models import openai_wire

PATIENCE = 240.0
Format = Callable[[bool], list[str]]
"""The lines of an answer: one that calls a tool, or one in words."""


@dataclass
class HeldModel:
    """Requests are counted from 0. Each waits until it has its answer."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    _begun: dict[int, Sequence[str]] = field(default_factory=dict)
    _answers: dict[int, Sequence[str]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def asked(self, number: int) -> dict[str, Any]:
        """The request with this number, once it is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) > number, PATIENCE), "it was not asked"
            return self.requests[number]

    def answer(self, number: int, lines: Sequence[str]) -> None:
        self.asked(number)
        with self._changed:
            self._answers[number] = lines
            self._changed.notify_all()

    def begin(self, number: int, *words: str) -> None:
        """The answer begins so; what is said later is the rest of it."""
        self.asked(number)
        with self._changed:
            self._begun[number] = openai_wire.spoken(*words)
            self._changed.notify_all()

    def say(self, number: int, text: str) -> None:
        self.answer(number, openai_wire.said(text))

    def call(self, number: int, tool: str = "ls", arguments: str = '{"path": "."}') -> None:
        call = openai_wire.call(0, arguments, name=tool, call_id=f"call_{number}")
        self.answer(
            number, [call, openai_wire.chunk({}, "tool_calls"), openai_wire.usage(), openai_wire.DONE]
        )

    def told(self, number: int) -> list[str]:
        """What people said, as the model was told in this request; several in one message stand apart."""
        texts = [each["content"] for each in self.asked(number)["messages"] if each["role"] == "user"]
        plain = [text if isinstance(text, str) else text[0]["text"] for text in texts]
        return [part for text in plain for part in text.partition(f"\n\n{HEAD}")[0].split("\n\n")]

    def take(self, body: dict[str, Any]) -> Iterator[Sequence[str]]:
        """How the answer begins, if a test says so, and the rest of it."""
        with self._changed:
            number = len(self.requests)
            self.requests.append(body)
            self._changed.notify_all()
            self._changed.wait_for(lambda: number in self._begun or number in self._answers, PATIENCE)
        yield self._begun.get(number, ())
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers, PATIENCE)
        yield self._answers.get(number, ())


@contextlib.contextmanager
def held_model() -> Iterator[HeldModel]:
    held = HeldModel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            pieces = held.take(body)
            begun = next(pieces)
            with contextlib.suppress(OSError):  # who interrupted a turn has hung up
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for lines in itertools.chain([begun], pieces):
                    self.wfile.write("".join(lines).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    held.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()
