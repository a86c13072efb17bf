"""Our MCP client as a program, for the conformance suite: calls every tool of the server it is given once.

Questions of the server are answered with their defaults, as a person who agrees would."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from colleague.config import Settings
from colleague.mcp.elicitation import GivenAnswer, InputRequired, QuestionAnswer
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers


def arguments_of(tool: McpTool) -> dict[str, Any]:
    values = {"number": 2, "integer": 2, "boolean": True, "string": "x", "array": [], "object": {}}
    fields = tool.input_schema.get("properties", {})
    return {name: values.get(each.get("type"), "x") for name, each in fields.items()}


async def call(servers: Servers, tool: McpTool) -> None:
    answer: GivenAnswer | None = None
    while True:
        try:
            found = await servers.call("it", tool.name, arguments_of(tool), key=tool.name, answer=answer)
        except InputRequired as asked:
            answer = GivenAnswer(asked.pending, QuestionAnswer("accept", asked.question.defaults))
            continue
        print(f"{tool.name}: {found.text}", file=sys.stderr)
        return


async def main(url: str) -> None:
    settings = Settings.model_validate({"mcp": {"servers": {"it": {"url": url}}}})
    with tempfile.TemporaryDirectory() as folder:
        async with Servers(settings, {}, Path(folder), logs=Path(folder)) as servers:
            for tool in await servers.tools("it"):
                await call(servers, tool)


asyncio.run(main(sys.argv[-1]))
