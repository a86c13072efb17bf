"""A server that asks a person in the middle of a call, in the older protocol: it waits for the answer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FORM = {
    "type": "object",
    "properties": {"seat": {"type": "string", "enum": ["aisle", "window"]}, "bags": {"type": "integer"}},
    "required": ["seat"],
}
TOOL = {
    "name": "book",
    "description": "Book a seat.",
    "inputSchema": {
        "type": "object",
        "properties": {"times": {"type": "integer"}, "url": {"type": "string"}},
    },
}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    found: dict[str, Any] = json.loads(line)
    return found


def ask(number: int, url: str) -> Any:
    params = {"message": f"Which seat? ({number})", "requestedSchema": FORM}
    if url:
        params = {"mode": "url", "message": "Pay first.", "url": url, "elicitationId": "e1"}
    send(id=f"ask-{number}", method="elicitation/create", params=params)
    while True:
        found = receive()
        if found.get("id") == f"ask-{number}":
            return found["result"] if "result" in found else sys.exit("nobody answers")


def book(arguments: dict[str, Any]) -> dict[str, Any]:
    answers = [ask(each, arguments.get("url", "")) for each in range(arguments.get("times", 1))]
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(json.dumps(answers) + "\n")
    return {"content": [{"type": "text", "text": f"booked: {json.dumps(answers)}"}]}


def main() -> None:
    tool = {**TOOL, "annotations": {"readOnlyHint": os.environ.get("READS") == "1"}}
    while True:
        found = receive()
        method, number = found.get("method"), found.get("id")
        if method == "initialize":
            offered = {"tools": {"listChanged": True}}
            info = {"name": "asking", "version": "1"}
            send(
                id=number,
                result={"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": info},
            )
        elif method == "tools/list":
            send(id=number, result={"tools": [tool]})
        elif method == "tools/call":
            send(id=number, result=book(found["params"].get("arguments") or {}))
        elif number is not None:
            send(id=number, error={"code": -32601, "message": "no such method"})


main()
