"""Servers that ask the client's model in the middle of a call: `old` waits for it, `new` is called again."""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {
        "times": {"type": "integer"},
        "more": {"type": "object"},
        "together": {"type": "boolean"},
    },
}
TOOL = {"name": "poem", "description": "Write.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}


def asked(number: int, more: dict[str, Any]) -> dict[str, Any]:
    content = {"type": "text", "text": f"SAMPLE {number}"}
    return {
        "messages": [{"role": "user", "content": content}],
        "systemPrompt": "You are a poet.",
        "maxTokens": 100_000,
        **more,
    }


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    found: dict[str, Any] = json.loads(line) if line else sys.exit(0)
    return found


def answered(numbers: list[int]) -> list[str]:
    """What comes for these requests, in whatever order."""
    found: dict[str, str] = {}
    while len(found) < len(numbers):
        message = receive()
        if "method" not in message:
            refused = message.get("error", {}).get("message")
            found[message["id"]] = f"refused: {refused}" if refused else message["result"]["content"]["text"]
    return [found[f"s{number}"] for number in numbers]


def sampled(numbers: list[int], more: dict[str, Any]) -> list[str]:
    for number in numbers:
        send(id=f"s{number}", method="sampling/createMessage", params=asked(number, more))
    return answered(numbers)


def written(arguments: dict[str, Any]) -> dict[str, Any]:
    numbers, more = list(range(arguments.get("times", 1))), arguments.get("more", {})
    together = arguments.get("together", False)
    texts = sampled(numbers, more) if together else [sampled([each], more)[0] for each in numbers]
    return {"content": [{"type": "text", "text": json.dumps(texts)}]}


def old() -> None:
    while True:
        found = receive()
        method, number = found.get("method"), found.get("id")
        if method == "initialize":
            info = {"name": "poet", "version": "1"}
            head = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            send(id=number, result=head)
        elif method == "tools/list":
            send(id=number, result={"tools": [TOOL]})
        elif method == "tools/call":
            send(id=number, result=written(found["params"].get("arguments") or {}))
        elif number is not None:
            send(id=number, error={"code": -32601, "message": "no such method"})


def new() -> None:
    import anyio
    from mcp.server.lowlevel.server import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        CreateMessageRequest,
        CreateMessageRequestParams,
        InputRequiredResult,
        ListToolsResult,
        TextContent,
        Tool,
    )

    async def listed(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(TOOL)])

    async def called(_: Any, params: CallToolRequestParams) -> Any:
        given, arguments = params.input_responses or {}, params.arguments or {}
        if not given:
            wanted = {
                f"s{each}": CreateMessageRequest(
                    params=CreateMessageRequestParams.model_validate(asked(each, arguments.get("more", {})))
                )
                for each in range(arguments.get("times", 1))
            }
            return InputRequiredResult(input_requests=wanted, request_state="asked")
        texts = [each.content.text for _, each in sorted(given.items())]  # type: ignore[union-attr]
        return CallToolResult(content=[TextContent(text=json.dumps(texts))])

    async def main() -> None:
        server = Server("poet", on_list_tools=listed, on_call_tool=called)
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    anyio.run(main)


old() if sys.argv[1] == "old" else new()
