"""Servers that die, will not start, or talk nonsense."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

import pytest

from colleague.mcp.backoff import Backoff, BackoffWaits
from colleague.mcp.errors import ServerDown, Unknown
from colleague.mcp.servers import Servers
from tests.integration.mcp.support import BARE, DESK, Bench, marked, until, until_status


async def pid_of(servers: Servers, name: str = "desk") -> int:
    status = next(each for each in await servers.status() if each.name == name)
    assert status.pid
    return status.pid


@pytest.mark.parametrize("script", [BARE, DESK], ids=["bare", "desk"])
def test_killed_in_a_call_it_is_unknown_and_the_next_call_works(bench: Bench, script: list[str]) -> None:
    bench.stdio("desk", script)
    bench.stdio("other", BARE)

    async def work(servers: Servers) -> None:
        await asyncio.gather(servers.tools("desk"), servers.tools("other"))
        first, other = await pid_of(servers), await pid_of(servers, "other")
        beside = asyncio.create_task(servers.call("other", "slow", {"seconds": 0.8}, key="k0"))
        call = asyncio.create_task(servers.call("desk", "slow", {"seconds": 30}, key="k1"))
        await asyncio.sleep(1)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(Unknown, match="the server was ended by SIGKILL before it answered"):
            await call
        assert (await servers.call("desk", "echo", {"text": "again"}, key="k2")).text == "again"
        assert await pid_of(servers) != first
        assert (await beside).text == "slept 0.8"
        assert await pid_of(servers, "other") == other

    bench.run(work)


def test_a_tool_that_crashes_its_server_is_called_once(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        await servers.call("desk", "write_ledger", {"line": "one"}, key="k1")
        with pytest.raises(Unknown, match="the server exited with code 7 before it answered"):
            await servers.call("desk", "crash", {}, key="k2")
        await servers.call("desk", "write_ledger", {"line": "two"}, key="k3")

    bench.run(work)
    assert bench.ledger.read_text() == "one\ntwo\n"
    assert bench.log("desk").count("about to crash") == 1


def test_a_server_that_dies_idle_is_warm_again_without_a_call(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        await servers.tools("desk")
        os.kill(await pid_of(servers), signal.SIGKILL)
        await until_status(servers, state="up", starts=2)

    bench.run(work)


def test_a_command_that_is_not_found(bench: Bench) -> None:
    bench.servers["ghost"] = {"command": "no-such-command"}

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown) as error:
            await servers.call("ghost", "echo", {}, key="k")
        assert error.value.message == (
            "MCP server ghost cannot start: the command 'no-such-command' is not found"
        )
        assert error.value.hint == "install it, or correct mcp.servers.ghost.command"

    bench.run(work)


def test_a_folder_that_is_not_there(bench: Bench) -> None:
    bench.stdio("desk", BARE, cwd=str(bench.root / "nowhere"))

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match=r"its folder .*/nowhere does not exist"):
            await servers.tools("desk")

    bench.run(work)


def test_a_program_that_may_not_be_run(bench: Bench) -> None:
    program = bench.root / "program"
    program.write_text("not a program")
    program.chmod(0o755)
    bench.servers["desk"] = {"command": str(program)}

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match=r"cannot start '.*/program': Exec format error"):
            await servers.tools("desk")

    bench.run(work)


def test_without_a_place_for_its_record_no_server_is_started(bench: Bench) -> None:
    (bench.root / "state").write_text("a file where a folder should be")
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match=r"(File exists|Not a directory): .*/state"):
            await servers.tools("desk")

    bench.run(work)
    assert not marked(bench.mark)


def test_a_server_that_exits_at_once_says_why(bench: Bench) -> None:
    bench.stdio("desk", ["-c", "import sys; print('no licence', file=sys.stderr); sys.exit(3)"])

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown) as error:
            await servers.tools("desk")
        assert error.value.message == (
            "MCP server desk exited with code 3 before it answered; it said: no licence"
        )
        assert str(bench.root / "logs" / "mcp-desk.log") in error.value.hint

    bench.run(work)


def test_a_server_that_prints_garbage_does_not_answer(bench: Bench) -> None:
    script = ["-c", "import time; print('Welcome to the desk!', flush=True); time.sleep(60)"]
    bench.stdio("desk", script, connectionTimeoutMs=2000)
    bench.stdio("other", BARE)

    async def work(servers: Servers) -> None:
        began = time.monotonic()
        with pytest.raises(ServerDown) as error:
            await servers.tools("desk")
        assert time.monotonic() - began < 50
        assert error.value.message == (
            "MCP server desk did not answer within 2 s; "
            "it printed 'Welcome to the desk!' on stdout, which is not MCP"
        )
        assert "mcp.servers.desk.connectionTimeoutMs" in error.value.hint
        assert await servers.tools("other")

    bench.run(work)


def test_garbage_among_the_messages_is_passed_over(bench: Bench) -> None:
    talkative = f"print('Starting...'); import runpy; runpy.run_path({BARE[0]!r}, run_name='__main__')"
    bench.stdio("desk", ["-c", talkative])

    async def work(servers: Servers) -> None:
        assert (await servers.call("desk", "echo", {"text": "hi"}, key="k")).text == "hi"

    bench.run(work)
    assert "(stdout) Starting..." in bench.log("desk")


def test_an_older_server_that_ends_at_an_unknown_message_is_met_with_its_own(bench: Bench) -> None:
    bench.stdio("desk", [*BARE, "--rude"])

    async def work(servers: Servers) -> None:
        assert (await servers.call("desk", "echo", {"text": "hi"}, key="k")).text == "hi"
        assert (await servers.status())[0].protocol_version == "2025-06-18"

    bench.run(work)


def test_a_server_that_keeps_failing_is_waited_for_less_and_less(bench: Bench) -> None:
    bench.stdio("desk", ["-c", "raise SystemExit(1)"])
    bench_pace = BackoffWaits(first=0.05, cap=30, patience=0.3)

    async def work() -> None:
        servers = bench.make(bench_pace)
        starts = 0
        for _ in range(12):
            with pytest.raises(ServerDown) as error:
                await servers.tools("desk")
            starts = (await servers.status())[0].starts
        assert "it is tried again in" in error.value.message
        assert starts < 8
        await servers.stop()

    asyncio.run(work())


def test_the_wait_doubles_up_to_a_cap_and_is_forgotten_after_a_healthy_while() -> None:
    backoff = Backoff(BackoffWaits(first=100, cap=1000, healthy_after=30))
    waits = []
    for _ in range(6):
        backoff.failed(uptime=0)
        waits.append(backoff.left)
    assert all(
        0.7 < wait / due < 1.25 for wait, due in zip(waits, [100, 200, 400, 800, 1000, 1000], strict=True)
    )
    backoff.failed(uptime=31)
    assert backoff.left < 125


def test_a_call_during_the_respawn_waits_for_it(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        await servers.tools("desk")
        first = await pid_of(servers)
        os.kill(first, signal.SIGKILL)
        await until_status(servers, pid=None)
        calls = [servers.call("desk", "echo", {"text": str(n)}, key=f"k{n}") for n in range(5)]
        assert [answer.text for answer in await asyncio.gather(*calls)] == list("01234")

    bench.run(work)


def test_a_late_callback_that_fails_harms_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with pytest.raises(Unknown):
            await servers.call("desk", "slow", {"seconds": 2.0}, key="", timeout=0.05)
        await until(lambda: "could not be taken" in caplog.text)
        assert (await servers.call("desk", "echo", {"text": "on"}, key="k")).text == "on"

    bench.fail_late = True
    bench.run(work)


def test_a_missing_variable_is_named(bench: Bench) -> None:
    bench.servers["desk"] = {"command": sys.executable, "env": {"KEY": "${NOT_SET}"}}

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown) as error:
            await servers.tools("desk")
        assert error.value.message == "mcp.servers.desk.env.KEY: the environment variable NOT_SET is not set"

    bench.run(work)
