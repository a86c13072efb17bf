"""An MCP server without the library: starts fast, speaks the older protocol, ignores cancellations.

Over stdio, or with a port over HTTP. Flags: --rude ends at the first message that is not `initialize`;
--stubborn ignores every polite request to end; --status N answers every HTTP request with that status.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Send = Callable[[dict[str, Any]], None]
SESSION = f"s{os.getpid()}"
INFO = {"name": "bare", "version": "0.1"}
extra: list[str] = []


def echo(text: str = "", **_: Any) -> str:
    return text


def slow(send: Send, meta: dict[str, Any], seconds: float = 1, steps: int = 2, **_: Any) -> str:
    for step in range(steps):
        if "progressToken" in meta:
            token = meta["progressToken"]
            params = {
                "progressToken": token,
                "progress": step + 1,
                "total": steps,
                "message": f"step {step + 1}",
            }
            send({"method": "notifications/progress", "params": params})
        time.sleep(seconds / steps)
    return f"slept {seconds}"


def write_ledger(line: str = "", **_: Any) -> str:
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(f"{line}\n")
    return "written"


def crash(**_: Any) -> str:
    print(f"about to crash with {os.environ.get('SECRET', '')}", file=sys.stderr, flush=True)
    os._exit(7)


def drop(line: str = "", **_: Any) -> str:
    """Does its work, then never answers; over HTTP its connection is closed."""
    write_ledger(line)
    raise ConnectionAbortedError


def spawn_child(**_: Any) -> str:
    """In a session of its own, as a daemon would be."""
    child = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    return str(subprocess.Popen(child, start_new_session=True).pid)


def key(meta: dict[str, Any], **_: Any) -> str:
    return str(meta.get("colleague/idempotency-key"))


def environment(**_: Any) -> str:
    return json.dumps(dict(os.environ))


def say(text: str = "", times: int = 1, **_: Any) -> str:
    for _number in range(times):
        print(text, file=sys.stderr)
    sys.stderr.flush()
    return "said"


def list_changed(send: Send, **_: Any) -> str:
    extra[:] = ["extra"]
    send({"method": "notifications/tools/list_changed"})
    return "changed"


TOOLS = {
    each.__name__: each
    for each in (echo, slow, write_ledger, crash, drop, spawn_child, key, environment, say, list_changed)
}


def handle(message: dict[str, Any], send: Send) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "notifications/cancelled":
        write_ledger(f"cancelled: {params['reason']}")
    if "id" not in message:
        return
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        answer(message, send, protocolVersion="2025-06-18", capabilities=capabilities, serverInfo=INFO)
    elif method == "tools/list":
        answer(message, send, **page(params.get("cursor")))
    elif method == "tools/call" and params["name"] == "fail":
        answer(message, send, content=[{"type": "text", "text": "no such contact"}], isError=True)
    elif method == "tools/call" and params["name"] == "protocol_error":
        send({"id": message["id"], "error": {"code": -32000, "message": "the desk is closed"}})
    elif method == "tools/call":
        meta = params.get("_meta") or {}
        text = TOOLS[params["name"]](send=send, meta=meta, **params.get("arguments") or {})
        answer(message, send, content=[{"type": "text", "text": text}])
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


def page(cursor: str | None) -> dict[str, Any]:
    """The tools on two pages."""
    names = [*TOOLS, "fail", "protocol_error", "status", *extra]
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return {"tools": tools[5:]} if cursor else {"tools": tools[:5], "nextCursor": "5"}


def answer(message: dict[str, Any], send: Send, **result: Any) -> None:
    send({"id": message["id"], "result": result})


def serve_stdio(*, rude: bool, stubborn: bool) -> None:
    lock = threading.Lock()
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def send(message: dict[str, Any]) -> None:
        with lock:
            print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if rude and message.get("method") == "server/discover":
            sys.exit("expected initialize")
        threading.Thread(target=handle, args=(message, send), daemon=True).start()
    if stubborn:
        time.sleep(600)


class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status = 0

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = self.headers.get("mcp-session-id")
        if self.status:
            self.plain(self.status)
        elif sent not in (None, SESSION):
            self.plain(404)
        elif message["method"] == "tools/call" and message["params"]["name"] == "status":
            self.plain(**message["params"]["arguments"])
        elif "id" not in message:
            self.plain(202)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.send_header("mcp-session-id", SESSION)
            self.end_headers()
            handle(message, self.event)

    def do_GET(self) -> None:
        self.plain(405)

    def do_DELETE(self) -> None:
        self.plain(200)

    def plain(self, status: int, body: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments and arguments[0].isdigit():
        Http.status = int(arguments[2]) if arguments[1:2] == ["--status"] else 0
        server = ThreadingHTTPServer(("127.0.0.1", int(arguments[0])), Http)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.serve_forever()
    else:
        serve_stdio(rude="--rude" in arguments, stubborn="--stubborn" in arguments)
