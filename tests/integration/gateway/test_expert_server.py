"""Experts as tools of an MCP server, over HTTP in the gateway and over stdio without one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.gateway.harness import BEARER, House, Running

TOOL = "expert_clerk"


def over_http(running: Running, work: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    async def go() -> Any:
        async with (
            httpx2.AsyncClient(headers=BEARER, timeout=120) as http,
            Client(streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await work(client)

    return asyncio.run(go())


def over_stdio(home: Path, work: Callable[[Client], Awaitable[Any]]) -> Any:
    environ = {**os.environ, "GATEWAY_TOKEN": "t", "HOOK_TOKEN": "h", "ORDER_SECRET": "s"}
    command = [sys.executable, "-m", "colleague", "mcp", "serve", "--home", str(home)]

    async def go() -> Any:
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=environ)
        async with Client(stdio_client(parameters)) as client:
            return await work(client)

    return asyncio.run(go())


async def started(client: Client, **arguments: Any) -> dict[str, Any]:
    told: list[str | None] = []

    async def hear(_: float, __: float | None, message: str | None) -> None:
        told.append(message)

    result = await client.call_tool(TOOL, {"task": "Do it.", **arguments}, progress_callback=hear)
    return {**json.loads(result.content[0].text), "told": told, "is_error": result.is_error}


def test_an_expert_is_a_tool_that_is_waited_for(shared: Running) -> None:
    async def work(client: Client) -> None:
        names = [each.name for each in (await client.list_tools()).tools]
        assert names == [TOOL, "run_outcome", "approvals_waiting"]
        found = await started(client)
        assert (found["status"], found["outcome"], found["text"]) == ("done", "completed", "It is done.")
        assert any("is stored" in (each or "") for each in found["told"])
        assert not found["is_error"]

    over_http(shared, work)
    over_http(shared, work, "legacy")


def test_a_run_that_nobody_waits_for_is_looked_up_later(shared: Running) -> None:
    async def work(client: Client) -> None:
        found = await started(client, wait_seconds=0)
        assert found["hint"] == "it goes on; ask with run_outcome"
        asked = {"run": found["run"], "wait_seconds": 120}
        later = await client.call_tool("run_outcome", asked)
        assert later.structured_content["outcome"] == "completed"
        waiting = await client.call_tool("approvals_waiting", {})
        assert waiting.structured_content == {"approvals": []}

    over_http(shared, work)


def test_what_does_not_fit_is_told_in_a_sentence(shared: Running) -> None:
    async def work(client: Client) -> None:
        for name, arguments, said in (
            (TOOL, {"task": 1}, "task"),
            (TOOL, {"process": "nightmare"}, "process"),
            ("run_outcome", {"run": "ffffffff"}, "ffffffff"),
            ("approve", {"id": "x"}, "no tool"),
        ):
            found = await client.call_tool(name, arguments)
            assert found.is_error
            assert said in found.content[0].text

    over_http(shared, work)


def test_nobody_comes_in_without_the_token(shared: Running) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert shared.client.post("/mcp", json=hello).status_code == 401
    assert shared.client.get("/mcp", headers={"Authorization": "Bearer no"}).status_code == 401
    assert shared.post("/mcp", hello, headers={"Origin": "https://evil.example"}).status_code == 403


def test_over_stdio_without_a_gateway_this_process_works(house: House) -> None:
    async def work(client: Client) -> None:
        waiting = await client.call_tool("approvals_waiting", {})
        assert waiting.structured_content == {"approvals": []}
        first, second = await asyncio.gather(started(client), started(client))
        assert [first["outcome"], second["outcome"]] == ["completed", "completed"]
        later = await started(client, wait_seconds=0)
        assert later["hint"].startswith("nobody works on it now")

    over_stdio(house.root, work)
