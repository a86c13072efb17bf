"""colleague mcp serve: experts for other programs. The gateway works where one runs, else this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.runtime.service import Service

PATH = "/mcp"


def serve_experts(home: Home) -> None:
    """Until stdin ends."""
    from colleague.cli.client import open_client, open_looking
    from colleague.cli.interrupt import run_interruptibly
    from colleague.gateway.expert_server import serve_stdio
    from colleague.gateway.expert_tools import ExpertTools, SharedService
    from colleague.runtime.gateway_file import gateway_runs

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        async with open_client(home) as using:
            yield using.service

    @contextlib.asynccontextmanager
    async def looking() -> AsyncIterator[Service]:
        async with open_looking(home) as using:
            yield using.service

    async def go() -> None:
        shared = SharedService(opened)
        await serve_stdio(ExpertTools(home, shared.open, looking, lambda: gateway_runs(home)))

    run_interruptibly(go)


def say_address(home: Home) -> None:
    """Over HTTP it is part of the gateway, with the gateway's token."""
    from colleague.cli.output import say, say_hint
    from colleague.errors import GatewayUnreachable
    from colleague.runtime.gateway_file import running_gateway

    found = running_gateway(home)
    if found is None:
        raise GatewayUnreachable("no gateway runs for this home", hint="start it with: colleague serve")
    say(f"{found.url}{PATH}")
    say_hint("Send the gateway's token: Authorization: Bearer TOKEN")
