"""Asking a model on a WireServer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic_ai.messages import ModelRequest
from pydantic_ai.tools import ToolDefinition

from colleague.agent.models.delta import Delta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolved import Api, Key, ResolvedModel
from colleague.agent.models.think import think
from tests.integration.models.server import Page, Stream, WireServer, serving

T = TypeVar("T")

SECRET = "-".join(("sk", "test", "0123456789abcdef"))
HELLO = ThinkRequest([ModelRequest.user_text_prompt("Hello")])
LOOK_UP = ToolDefinition(
    name="crm.get_contact",
    description="Looks up a contact.",
    parameters_json_schema={
        "type": "object",
        "properties": {"email": {"type": "string"}},
        "required": ["email"],
        "additionalProperties": False,
    },
)


@dataclass
class Asked:
    """An answer, with what was told on the way and what was sent."""

    reply: Reply
    deltas: list[Delta]
    server: WireServer

    @property
    def sent(self) -> Any:
        return self.server.requests[-1].body


def at(server: WireServer, api: Api = "openai-completions", **more: Any) -> ResolvedModel:
    base = server.url + ("/v1" if api.startswith("openai") else "")
    model = ResolvedModel("local", "m1", api, base, Key(SECRET, "models.providers.local.apiKey"))
    return replace(model, **more)


def ask(
    *answers: Page | Stream, api: Api = "openai-completions", request: ThinkRequest = HELLO, **more: Any
) -> Asked:
    async def run(server: WireServer) -> Asked:
        deltas: list[Delta] = []
        reply = await think(at(server, api, **more), request, deltas.append)
        return Asked(reply, deltas, server)

    return with_server(run, *answers)


def fail(
    *answers: Page | Stream, api: Api = "openai-completions", request: ThinkRequest = HELLO, **more: Any
) -> ModelFailure:
    async def run(server: WireServer) -> ModelFailure:
        try:
            await think(at(server, api, **more), request)
        except ModelFailure as failure:
            return failure
        raise AssertionError("it did not fail")

    return with_server(run, *answers)


def with_server(run: Callable[[WireServer], Awaitable[T]], *answers: Page | Stream) -> T:
    async def main() -> T:
        async with serving(*answers) as server:
            return await run(server)

    return asyncio.run(main())
