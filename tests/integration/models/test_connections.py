"""Connections that are kept, and closed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace

from colleague.agent.models.connections import Connections
from colleague.agent.models.resolved import Key
from colleague.agent.models.think import think
from tests.integration.models import openai_wire as wire
from tests.integration.models.asking import HELLO, at, with_server
from tests.integration.models.server import Stream, WireServer

SAID = Stream(wire.said("Hi."))


def test_one_connection_serves_many_requests() -> None:
    async def run(server: WireServer) -> tuple[int, int]:
        async with Connections() as connections:
            for name in ("m1", "m1", "m2"):
                await think(replace(at(server), id=name), HELLO, connections=connections)
        return len(server.requests), server.connections

    assert with_server(run, SAID) == (3, 1)


def test_requests_at_the_same_time_share_the_client() -> None:
    async def run(server: WireServer) -> list[str]:
        async with Connections() as connections:
            asking = (think(at(server), HELLO, connections=connections) for _ in range(5))
            return [reply.text for reply in await asyncio.gather(*asking)]

    assert with_server(run, SAID) == ["Hi."] * 5


def test_another_key_is_another_client() -> None:
    async def run(server: WireServer) -> list[str]:
        async with Connections() as connections:
            for text in ("first-key", "second-key"):
                await think(at(server, key=Key(text, "K")), HELLO, connections=connections)
        return [request.headers["authorization"] for request in server.requests]

    assert with_server(run, SAID) == ["Bearer first-key", "Bearer second-key"]


def test_without_connections_each_request_has_its_own() -> None:
    async def run(server: WireServer) -> int:
        await think(at(server), HELLO)
        await think(at(server), HELLO)
        return server.connections

    assert with_server(run, SAID) == 2


MISSING = """
import asyncio, sys
sys.modules["anthropic"] = None
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import Key, ResolvedModel
from colleague.agent.models.think import think
model = ResolvedModel("anthropic", "claude", "anthropic-messages", None, Key("k", "test"))
try:
    asyncio.run(think(model, ThinkRequest([])))
except ModelFailure as failure:
    print(failure.message, "|", failure.hint)
"""


def test_a_provider_whose_library_is_missing_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == (
        "the library for anthropic/claude is not installed | pip install 'colleague[anthropic]'"
    ), done.stderr
