"""Our MCP client as a program, for the conformance suite: calls every tool of the server it is given once.

Questions of the server are answered with their defaults, and logins made, as a person who agrees would."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import httpx2

from colleague.config import Settings
from colleague.home import Home
from colleague.mcp.elicitation import GivenAnswer, InputRequired, QuestionAnswer
from colleague.mcp.errors import LoginNeeded
from colleague.mcp.login import LoginScreen, log_in
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


def oauth(url: str) -> dict[str, Any]:
    """As a person would configure it: the suite's servers are on this machine."""
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    found: dict[str, Any] = {"allowPrivate": ["localhost", "127.0.0.1"]}
    if "client_secret" in given:
        found |= {"clientId": given["client_id"], "clientSecret": given["client_secret"]}
        base = httpx2.URL(url)
        resource = httpx2.get(base.copy_with(path=f"/.well-known/oauth-protected-resource{base.path}"))
        found["issuer"] = resource.json()["authorization_servers"][0]
        if "client-credentials" in os.environ.get("MCP_CONFORMANCE_SCENARIO", ""):
            found["grant"] = "client_credentials"
    else:
        found["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
    return found


def visit(address: str, _issuer: str) -> None:
    def browse() -> None:
        httpx2.get(address, follow_redirects=True, timeout=60)

    threading.Thread(target=browse, daemon=True).start()


async def use_all(settings: Settings, home: Home) -> None:
    async with Servers.of(home, settings, {}) as servers:
        for tool in await servers.tools("it"):
            await call(servers, tool)


async def main(url: str) -> None:
    settings = Settings.model_validate({"mcp": {"servers": {"it": {"url": url, "oauth": oauth(url)}}}})
    screen = LoginScreen(visit, lambda text: print(text, file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        for _ in range(3):
            try:
                await use_all(settings, home)
                return
            except LoginNeeded as error:
                print(error.message, file=sys.stderr)
            await log_in(home, "it", settings.mcp.servers["it"], {}, screen)


asyncio.run(main(sys.argv[-1]))
