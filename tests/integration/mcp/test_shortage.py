"""Servers while the process has no more descriptors or threads, and afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import threading
from collections.abc import Iterator

import pytest

from colleague.mcp.backoff import BackoffWaits
from colleague.mcp.errors import McpError, ServerDown
from colleague.mcp.servers import Servers
from colleague.threads import started_pool
from tests.integration.mcp.support import BARE, Bench, until_status

QUICK = BackoffWaits(first=0.02, cap=0.1)


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """What is open stays so; nothing more can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def no_threads() -> Iterator[None]:
    """A thread would need more memory than there can be."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)


async def answered(servers: Servers) -> str:
    """What the server says, once it can be had again."""
    async with asyncio.timeout(240):
        while True:
            with contextlib.suppress(McpError):
                return (await servers.call("desk", "echo", {"text": "here"}, key="k")).text
            await asyncio.sleep(0.05)


def run(bench: Bench, work: object) -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(started_pool(4, "work"))
        async with bench.make(QUICK) as servers:
            await work(servers)  # type: ignore[operator]

    asyncio.run(main())


@pytest.mark.parametrize("short", [no_descriptors, no_threads])
def test_a_start_that_fails_for_want_of_something_ends_and_is_made_good(bench: Bench, short: object) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with short():  # type: ignore[operator]
            for _ in range(5):
                calls = [servers.call("desk", "echo", {"text": "x"}, key=f"k{n}") for n in range(8)]
                async with asyncio.timeout(240):
                    ends = await asyncio.gather(*calls, return_exceptions=True)
                assert all(isinstance(each, ServerDown) for each in ends), ends
                await asyncio.sleep(0.05)
        assert await answered(servers) == "here"

    run(bench, work)


def test_without_a_thread_no_process_is_begun(bench: Bench) -> None:
    """It could be waited for by nobody."""
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with no_threads(), pytest.raises(ServerDown, match="can't start new thread"):
            await servers.tools("desk")
        assert await answered(servers) == "here"
        assert bench.log("desk").count("starting") == 1

    run(bench, work)


def test_a_server_that_dies_then_comes_back_afterwards(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        assert await answered(servers) == "here"
        [status] = await servers.status()
        assert status.pid
        with no_descriptors():
            os.kill(status.pid, signal.SIGKILL)
            await until_status(servers, state="waiting")
            with pytest.raises(McpError):
                async with asyncio.timeout(240):
                    await servers.call("desk", "echo", {"text": "x"}, key="k1")
        assert await answered(servers) == "here"

    run(bench, work)


def test_a_stop_in_the_middle_of_it_leaves_no_process(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def main() -> None:
        servers = bench.make(QUICK)
        await servers.start()
        assert await answered(servers) == "here"
        with no_descriptors():
            async with asyncio.timeout(240):
                await servers.stop()

    asyncio.run(main())
    for file in bench.root.glob("state/*.json"):  # the record could not be written anew; its process is gone
        file.unlink()


def test_a_keeper_that_is_gone_is_replaced(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        with no_descriptors(), pytest.raises(ServerDown):
            await servers.tools("desk")
        keeper = servers._servers["desk"]._keeper
        assert keeper
        keeper.cancel()
        await asyncio.wait([keeper])
        assert await answered(servers) == "here"

    run(bench, work)
