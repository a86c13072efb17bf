"""MCP servers: how each is, and accepting one that waits for a yes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.experts.launch_acceptance import launch_entry
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import AcceptAsked, ServerDocument
from colleague.mcp.server import ServerStatus

router = APIRouter(prefix="/api/servers", tags=["servers"])

WHO = "api"


@router.get("", response_model=list[ServerDocument], responses=with_token())
async def list_servers(here: GatewayDep) -> list[dict[str, Any]]:
    """The configured servers. `held` ones wait for a yes and are not started."""
    return [_document(here, each) for each in await here.host.servers.status()]


@router.post("/{name}/accept", response_model=ServerDocument, responses=with_token(404, 409))
async def accept(name: str, asked: AcceptAsked, here: GatewayDep) -> dict[str, Any]:
    """Let a server be started. `digest` is that of the entry the person looked at."""
    await here.live.look()
    await here.service.accept_server(name, asked.digest, asked.by.strip() or WHO)
    await here.live.look()
    [found] = [each for each in await here.host.servers.status() if each.name == name]
    return _document(here, found)


def _document(here: Gateway, status: ServerStatus) -> dict[str, Any]:
    entry = here.live.settings.mcp.servers.get(status.name)
    return {
        "name": status.name,
        "transport": status.transport,
        "where": status.where,
        "state": status.state,
        "digest": launch_entry(status.name, entry).digest if entry else "",
        "tools": status.tools,
        "error": status.error,
        "findings": list(status.findings),
    }
