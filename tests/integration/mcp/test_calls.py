"""Calling tools: answers, progress, keys, filters, and how a call can end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from colleague.mcp.call import CallProgress
from colleague.mcp.errors import CallNotSent, ServerDown, Unknown, UnknownTool
from colleague.mcp.servers import Servers
from tests.integration.mcp.support import BARE, DESK, Bench, marked, until, until_status

BOTH = pytest.mark.parametrize(("script", "version"), [(BARE, "2025-06-18"), (DESK, "2026-07-28")])


@BOTH
def test_a_call_is_answered_on_either_protocol(bench: Bench, script: list[str], version: str) -> None:
    bench.stdio("desk", script)

    async def work(servers: Servers) -> None:
        assert (await servers.call("desk", "echo", {"text": "hi"}, key="k1")).text == "hi"
        assert (await servers.call("desk", "key", {}, key="key-2")).text == "key-2"
        failed = await servers.call("desk", "fail", {}, key="k3")
        assert (failed.text, failed.is_error) == ("no such contact", True)
        [status] = await servers.status()
        assert (status.state, status.protocol_version, status.starts) == ("up", version, 1)

    bench.run(work)


def test_nothing_is_started_before_it_is_used(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        assert marked(bench.mark) == []
        [status] = await servers.status()
        assert (status.state, status.pid) == ("idle", None)

    bench.run(work)


def test_tools_come_with_their_hints(bench: Bench) -> None:
    bench.stdio("desk", DESK)

    async def work(servers: Servers) -> None:
        tools = {tool.name: tool for tool in await servers.tools("desk")}
        marks = {name: (tool.read_only, tool.idempotent, tool.destructive) for name, tool in tools.items()}
        assert marks["echo"] == (True, False, False)
        assert marks["write_ledger"] == (False, True, False)
        assert marks["slow"] == (False, False, True)
        assert tools["echo"].input_schema["required"] == ["text"]
        assert tools["echo"].output_schema
        assert (tools["echo"].server, tools["echo"].description) == ("desk", "Say it again.")

    bench.run(work)


def test_an_answer_with_a_picture_describes_it(bench: Bench) -> None:
    bench.stdio("desk", DESK)

    async def work(servers: Servers) -> None:
        answer = await servers.call("desk", "picture", {}, key="k")
        assert answer.text == "a picture:\n[image image/png, 3 KB]"
        assert (await servers.call("desk", "echo", {"text": "x"}, key="k")).structured == {"result": "x"}

    bench.run(work)


@BOTH
def test_calls_run_at_once(bench: Bench, script: list[str], version: str) -> None:
    bench.stdio("desk", script)

    async def work(servers: Servers) -> None:
        await servers.tools("desk")
        began = time.monotonic()
        slow = [servers.call("desk", "slow", {"seconds": 3.0}, key=f"k{number}") for number in range(8)]
        assert {answer.text for answer in await asyncio.gather(*slow)} == {"slept 3.0"}
        assert time.monotonic() - began < 23

    bench.run(work)


def test_calls_run_in_turn_when_the_settings_say_so(bench: Bench) -> None:
    bench.stdio("desk", BARE, supportsParallelToolCalls=False)

    async def work(servers: Servers) -> None:
        await servers.tools("desk")
        began = time.monotonic()
        slow = [servers.call("desk", "slow", {"seconds": 0.2}, key=f"k{number}") for number in range(3)]
        await asyncio.gather(*slow)
        assert time.monotonic() - began > 0.6

    bench.run(work)


def test_a_first_use_by_many_starts_one_server(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        calls = [servers.call("desk", "echo", {"text": str(n)}, key=f"k{n}") for n in range(10)]
        assert [answer.text for answer in await asyncio.gather(*calls)] == [str(n) for n in range(10)]
        assert (await servers.status())[0].starts == 1

    bench.run(work)


@BOTH
def test_progress_reaches_the_caller(bench: Bench, script: list[str], version: str) -> None:
    bench.stdio("desk", script)
    heard: list[CallProgress] = []

    async def hear(progress: CallProgress) -> None:
        heard.append(progress)

    async def work(servers: Servers) -> None:
        await servers.call("desk", "slow", {"seconds": 0.1, "steps": 2}, key="k", on_progress=hear)

    bench.run(work)
    assert heard == [CallProgress(1, 2, "step 1"), CallProgress(2, 2, "step 2")]


def test_a_timeout_is_unknown_and_its_late_answer_is_offered(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(Unknown, match=r"desk/slow may have happened: no answer came within 0.2 s"):
            await servers.call("desk", "slow", {"seconds": 2.0}, key="the-key", timeout=0.2)
        assert bench.late == []
        await until(lambda: bench.late)
        assert [(key, answer.text) for key, answer in bench.late] == [("the-key", "slept 2.0")]
        assert bench.ledger.read_text() == "cancelled: no answer within 0.2 s\n"

    bench.run(work)


def test_a_caller_that_gives_up_is_cancelled_and_the_answer_is_late(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        await servers.tools("desk")
        caller = asyncio.create_task(servers.call("desk", "slow", {"seconds": 2.0}, key="given-up"))
        await until_status(servers, calls=1)
        await asyncio.sleep(0.2)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await until(lambda: bench.late)
        assert bench.late[0][0] == "given-up"

    bench.run(work)


def test_a_server_that_heeds_the_cancellation_stops_and_stays_usable(bench: Bench) -> None:
    bench.stdio("desk", DESK)

    async def work(servers: Servers) -> None:
        with pytest.raises(Unknown):
            await servers.call("desk", "slow", {"seconds": 30}, key="k1", timeout=0.2)
        assert (await servers.call("desk", "echo", {"text": "on"}, key="k2")).text == "on"
        assert (await servers.status())[0].starts == 1

    bench.run(work)


@pytest.mark.parametrize("arguments", [{"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, {"x": {1, 2}}])
def test_arguments_that_are_no_json_are_not_sent(bench: Bench, arguments: dict[str, Any]) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(CallNotSent, match="cannot be written as JSON"):
            await servers.call("desk", "write_ledger", arguments, key="k")
        assert marked(bench.mark) == []

    bench.run(work)


def test_a_key_that_is_no_text_is_not_sent(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(CallNotSent, match="not valid Unicode"):
            await servers.call("desk", "echo", {}, key="\ud800")

    bench.run(work)


def test_an_unknown_tool_is_not_sent(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(UnknownTool) as error:
            await servers.call("desk", "ecko", {}, key="k")
        assert error.value.hint == "did you mean 'echo'?"
        assert isinstance(error.value, CallNotSent)

    bench.run(work)


def test_an_unknown_or_disabled_server_is_down(bench: Bench) -> None:
    bench.stdio("desk", BARE)
    bench.stdio("off", BARE, enabled=False)

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown) as error:
            await servers.call("desc", "echo", {}, key="k")
        assert (error.value.message, error.value.hint) == (
            "MCP server desc is not configured",
            "did you mean 'desk'?",
        )
        with pytest.raises(ServerDown, match="off is disabled"):
            await servers.tools("off")

    bench.run(work)


def test_a_filter_hides_tools_from_the_list_and_from_calls(bench: Bench) -> None:
    bench.stdio("desk", BARE, toolFilter={"include": ["e*", "key"], "exclude": ["environment"]})

    async def work(servers: Servers) -> None:
        assert [tool.name for tool in await servers.tools("desk")] == ["echo", "key"]
        with pytest.raises(UnknownTool):
            await servers.call("desk", "environment", {}, key="k")

    bench.run(work)


@BOTH
def test_the_list_is_kept_until_the_server_says_it_changed(
    bench: Bench, script: list[str], version: str
) -> None:
    bench.stdio("desk", script)

    async def names(servers: Servers) -> list[str]:
        return [tool.name for tool in await servers.tools("desk")]

    async def work(servers: Servers) -> None:
        assert "extra" not in await names(servers)
        await asyncio.sleep(0.1)
        await servers.call("desk", "list_changed", {}, key="k")
        for _ in range(6000):
            if "extra" in await names(servers):
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the new tool is not seen")

    bench.run(work)


def test_an_error_of_the_protocol_is_an_answer(bench: Bench) -> None:
    """It has the code that the library also uses for a lost connection."""
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        answer = await servers.call("desk", "protocol_error", {}, key="k")
        assert (answer.text, answer.is_error) == ("the desk is closed", True)

    bench.run(work)


def test_after_the_stop_nothing_is_sent(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        call = asyncio.create_task(servers.call("desk", "slow", {"seconds": 30}, key="k1"))
        await until_status(servers, calls=1)
        await asyncio.sleep(0.2)
        await servers.stop()
        with pytest.raises(Unknown):
            await call
        with pytest.raises(ServerDown, match="is stopped"):
            await servers.call("desk", "echo", {}, key="k2")

    bench.run(work)
