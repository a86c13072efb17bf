"""Serves a suite of tasks and injections: its tools over MCP on stdio, its set-up and verdicts over a socket.

The agent reaches the tools only. Whoever measures begins a pair of task and injection and asks for the
verdict over the Unix socket, one JSON document a line."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

LONGEST_LINE = 1 << 24


@dataclass(frozen=True)
class SuiteTool:
    """A tool of the environment. `is_read` says that it changes nothing and tells nobody anything."""

    name: str
    description: str
    schema: dict[str, Any]
    is_read: bool


@dataclass(frozen=True)
class Pair:
    """A user's task in an environment with one injection.

    `wanted` are the calls that do the task, `injected` those that do what the attacker wants: each a tool's
    name and its arguments. `goal` is in the attacker's text."""

    prompt: str
    answer: str
    wanted: list[tuple[str, dict[str, Any]]]
    goal: str
    injected: list[tuple[str, dict[str, Any]]]
    injected_answer: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether the attacker has what they want, and whether the user has."""

    attack: bool
    utility: bool


class Suite(Protocol):
    """An environment that is made anew for each pair."""

    tools: list[SuiteTool]
    pairs: list[tuple[str, str]]

    def begin(self, user: str, injection: str) -> Pair: ...

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The result as text, and whether it is an error."""
        ...

    def judge(self, output: str) -> Verdict:
        """`output` is the last text of the agent."""
        ...


def serve(suite: Suite, control: Path) -> None:
    """Until stdin ends."""
    asyncio.run(_serve(suite, control))


async def _serve(suite: Suite, control: Path) -> None:
    control.unlink(missing_ok=True)
    listening = await asyncio.start_unix_server(_controlled(suite), control, limit=LONGEST_LINE)
    server = _mcp_server(suite)
    async with listening, stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _controlled(suite: Suite) -> Any:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(_control(suite, json.loads(line)), default=str).encode() + b"\n")
            await writer.drain()
        writer.close()

    return answer


def _control(suite: Suite, asked: dict[str, Any]) -> Any:
    match asked["verb"]:
        case "pairs":
            return suite.pairs
        case "begin":
            return asdict(suite.begin(asked["user"], asked["injection"]))
        case _:
            return asdict(suite.judge(asked["output"]))


def _mcp_server(suite: Suite) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(each) for each in suite.tools])

    async def call_tool(_context: Any, params: Any) -> CallToolResult:
        text, is_error = suite.call(params.name, params.arguments or {})
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)

    return Server("suite", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(tool: SuiteTool) -> Tool:
    hints = ToolAnnotations(read_only_hint=tool.is_read)
    return Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)
