"""Servers over HTTP: both protocols, the older SSE, and every way a connection can go wrong."""

from __future__ import annotations

import asyncio
import signal

import pytest

from colleague.mcp.errors import CallNotSent, ServerDown, Unknown
from colleague.mcp.servers import Servers
from tests.integration.mcp.support import BARE, DESK, Bench, free_port, listening, until

KINDS = {
    "bare": (BARE, ["{port}"], "/mcp", "streamable-http", "2025-06-18"),
    "desk": (DESK, ["streamable-http", "{port}"], "/mcp", "streamable-http", "2026-07-28"),
    "sse": (DESK, ["sse", "{port}"], "/sse", "sse", "2026-07-28"),
}


GIVEN = {"Authorization": "Bearer of-the-settings"}
"""Credentials in the settings: no login is asked for."""


class Remote:
    """A server on a port that stays the same over restarts."""

    def __init__(self, bench: Bench, kind: str, **more: object) -> None:
        self.script, arguments, path, transport, self.version = KINDS[kind]
        self.port = free_port()
        self.arguments = [each.format(port=self.port) for each in arguments]
        self.env = {"BENCH": str(bench.root), "LEDGER": str(bench.ledger)}
        bench.http("remote", f"http://127.0.0.1:{self.port}{path}", transport=transport, **more)

    def up(self, *flags: str):  # type: ignore[no-untyped-def]
        return listening(self.port, self.script, *self.arguments, *flags, **self.env)


@pytest.mark.parametrize("kind", KINDS)
def test_down_then_up_then_dead_in_a_call_then_up_again(bench: Bench, kind: str) -> None:
    remote = Remote(bench, kind)

    async def echo(servers: Servers, key: str) -> str:
        return (await servers.call("remote", "echo", {"text": key}, key=key)).text

    async def works_again(servers: Servers) -> None:
        """What is not sent, or reads of a dead connection, may be tried again by whoever knows it is safe."""
        for number in range(600):
            try:
                assert await echo(servers, f"again {number}") == f"again {number}"
                return
            except (CallNotSent, Unknown):
                await asyncio.sleep(0.2)
        raise AssertionError("it does not work again")

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match=r"refused the connection: nothing listens there"):
            await echo(servers, "down")
        with remote.up() as process:
            assert await echo(servers, "up") == "up"
            [status] = await servers.status()
            assert (status.protocol_version, status.pid) == (remote.version, None)
            assert (await servers.call("remote", "key", {}, key="the-key")).text == "the-key"
            call = asyncio.create_task(servers.call("remote", "slow", {"seconds": 30}, key="k2"))
            await asyncio.sleep(1)
            process.send_signal(signal.SIGKILL)
            with pytest.raises(Unknown, match=r"closed|ended"):
                await call
            task = asyncio.current_task()
            assert task
            assert task.cancelling() == 0
        with remote.up():
            await works_again(servers)

    bench.run(work)


@pytest.mark.parametrize("kind", KINDS)
def test_calls_run_at_once_with_progress(bench: Bench, kind: str) -> None:
    remote = Remote(bench, kind)
    heard: list[int] = []
    ended: list[int] = []
    under_way: list[int] = []

    async def call(servers: Servers, number: int) -> str:
        async def hear(_progress: object) -> None:
            heard.append(number)
            under_way.append(len({*heard} - {*ended}))

        arguments = {"seconds": 0.4, "steps": 2}
        answer = await servers.call("remote", "slow", arguments, key=f"k{number}", on_progress=hear)
        ended.append(number)
        return answer.text

    async def work(servers: Servers) -> None:
        await servers.tools("remote")
        texts = await asyncio.gather(*(call(servers, number) for number in range(8)))
        assert {*texts} == {"slept 0.4"}

    with remote.up():
        bench.run(work)
    assert len(heard) == 16
    assert max(under_way) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_timeout_is_unknown_and_the_connection_lives_on(bench: Bench, kind: str) -> None:
    remote = Remote(bench, kind)

    async def work(servers: Servers) -> None:
        await servers.tools("remote")
        beside = asyncio.create_task(servers.call("remote", "slow", {"seconds": 0.8}, key="k0"))
        with pytest.raises(Unknown):
            await servers.call("remote", "slow", {"seconds": 5}, key="k1", timeout=0.2)
        assert (await servers.call("remote", "echo", {"text": "on"}, key="k2")).text == "on"
        assert (await beside).text == "slept 0.8"
        assert (await servers.status())[0].starts == 1

    with remote.up():
        bench.run(work)


def test_a_late_answer_over_http(bench: Bench) -> None:
    remote = Remote(bench, "bare")

    async def work(servers: Servers) -> None:
        with pytest.raises(Unknown):
            await servers.call("remote", "slow", {"seconds": 2.0}, key="late", timeout=0.2)
        await until(lambda: bench.late)
        assert bench.late[0][1].text == "slept 2.0"

    with remote.up():
        bench.run(work)


@pytest.mark.parametrize("kind", ["bare", "desk"])
def test_changed_tools_are_seen_over_http(bench: Bench, kind: str) -> None:
    remote = Remote(bench, kind)

    async def work(servers: Servers) -> None:
        await servers.tools("remote")
        for number in range(600):  # what is told before its line is open is lost
            await servers.call("remote", "list_changed", {}, key=f"k{number}")
            await asyncio.sleep(0.2)
            if "extra" in [tool.name for tool in await servers.tools("remote")]:
                return
        raise AssertionError("the new tool is not seen")

    with remote.up():
        bench.run(work)


def test_a_restarted_server_turns_the_old_session_away_unsent(bench: Bench) -> None:
    remote = Remote(bench, "bare")

    async def work(servers: Servers) -> None:
        with remote.up():
            await servers.call("remote", "write_ledger", {"line": "one"}, key="k1")
        with remote.up():
            with pytest.raises((CallNotSent, Unknown)):
                await servers.call("remote", "write_ledger", {"line": "two"}, key="k2")
            await servers.call("remote", "write_ledger", {"line": "three"}, key="k3")

    bench.run(work)
    assert bench.ledger.read_text() == "one\nthree\n"


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "credentials"), (403, "credentials"), (404, "path"), (500, "try again later")],
)
def test_an_http_status_is_named(bench: Bench, status: int, hint: str) -> None:
    remote = Remote(bench, "bare", headers=GIVEN)

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match=f"answered HTTP {status}") as error:
            await servers.tools("remote")
        assert hint in error.value.hint

    with remote.up("--status", str(status)):
        bench.run(work)


def test_an_address_that_is_none(bench: Bench) -> None:
    bench.http("remote", "ftp://127.0.0.1/x")
    bench.http("lost", "http://no-such-host.invalid/mcp")

    async def work(servers: Servers) -> None:
        with pytest.raises(ServerDown, match="is not an http or https address"):
            await servers.tools("remote")
        with pytest.raises(ServerDown, match=r"cannot be reached|refused the connection"):
            await servers.tools("lost")

    bench.run(work)


def test_a_server_that_does_not_answer_times_out_at_the_start(bench: Bench) -> None:
    """A port that takes connections and says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        bench.http("remote", f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", connectionTimeoutMs=400)

        async def work(servers: Servers) -> None:
            with pytest.raises(ServerDown, match=r"did not answer within 0.4 s"):
                await servers.tools("remote")

        bench.run(work)


def test_one_broken_request_leaves_the_others_alone_and_is_not_repeated(bench: Bench) -> None:
    remote = Remote(bench, "bare")

    async def work(servers: Servers) -> None:
        await servers.tools("remote")
        beside = asyncio.create_task(servers.call("remote", "slow", {"seconds": 0.8}, key="k1"))
        await asyncio.sleep(0.1)
        with pytest.raises(Unknown):
            await servers.call("remote", "drop", {"line": "done"}, key="k2")
        assert (await beside).text == "slept 0.8"
        assert (await servers.status())[0].starts == 1

    with remote.up():
        bench.run(work)
    assert bench.ledger.read_text() == "done\n"


@pytest.mark.parametrize(
    ("status", "ending"),
    [(401, CallNotSent), (429, CallNotSent), (400, Unknown), (500, Unknown), (504, Unknown)],
)
def test_a_status_in_place_of_an_answer(bench: Bench, status: int, ending: type[Exception]) -> None:
    remote = Remote(bench, "bare", headers=GIVEN)

    async def work(servers: Servers) -> None:
        with pytest.raises(ending, match=f"answered HTTP {status}") as error:
            await servers.call("remote", "status", {"status": status}, key="k1")
        assert type(error.value) is ending
        assert (await servers.call("remote", "echo", {"text": "on"}, key="k2")).text == "on"

    with remote.up():
        bench.run(work)


def test_an_error_in_the_body_of_a_status_is_the_servers_answer(bench: Bench) -> None:
    remote = Remote(bench, "bare")
    body = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "no such thing"}}'

    async def work(servers: Servers) -> None:
        answer = await servers.call("remote", "status", {"status": 400, "body": body}, key="k")
        assert (answer.text, answer.is_error) == ("no such thing", True)

    with remote.up():
        bench.run(work)


def test_a_body_that_is_no_message_is_unknown(bench: Bench) -> None:
    remote = Remote(bench, "bare")

    async def work(servers: Servers) -> None:
        with pytest.raises(Unknown):
            await servers.call("remote", "status", {"status": 200, "body": "<html>"}, key="k")

    with remote.up():
        bench.run(work)
