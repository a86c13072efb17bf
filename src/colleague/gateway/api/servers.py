"""MCP servers: how each is, and accepting one that waits for a yes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import RequestBody
from colleague.settings_document import McpServerDocument, ServerProbe

router = APIRouter(prefix="/api/servers", tags=["servers"])

WHO = "api"


class AcceptAsked(RequestBody):
    digest: Annotated[str, Field(min_length=1, max_length=200)]
    by: Annotated[str, Field(max_length=200)] = ""


class AcceptToolsAsked(RequestBody):
    digest: Annotated[str, Field(min_length=1, max_length=200)]


@router.get("", response_model=list[McpServerDocument], responses=with_token())
async def list_servers(gateway: GatewayDep) -> list[McpServerDocument]:
    """The configured servers. `held` ones wait for a yes and are not started."""
    return await gateway.service.mcp_servers()


@router.post("/{name}/accept", response_model=McpServerDocument, responses=with_token(404, 409))
async def accept(name: str, asked: AcceptAsked, gateway: GatewayDep) -> McpServerDocument:
    """Let a server be started. `digest` is that of the entry the person looked at."""
    await accept_in(gateway, name, asked.digest, asked.by.strip() or WHO)
    [found] = [each for each in await gateway.service.mcp_servers() if each["name"] == name]
    return found


@router.post("/{name}/accept-tools", response_model=list[str], responses=with_token(404, 409))
async def accept_tools(name: str, asked: AcceptToolsAsked, gateway: GatewayDep) -> list[str]:
    """Take its tools as they were listed last. `digest` is the `tools_digest` that the person looked at."""
    return await gateway.service.accept_tools(name, asked.digest)


@router.post("/{name}/probe", response_model=ServerProbe, responses=with_token(404))
async def probe(name: str, gateway: GatewayDep) -> ServerProbe:
    """Start a server, unless it is up, and list its tools; what goes wrong is in the answer."""
    return await gateway.service.probe_server(name)


@router.get("/{name}/log", response_model=list[str], responses=with_token(404))
async def log(name: str, gateway: GatewayDep, lines: Annotated[int, Query(ge=1, le=1000)] = 200) -> list[str]:
    """The last lines that a server wrote on stderr, or logged over the protocol."""
    return await gateway.service.server_log(name, lines)


async def accept_in(gateway: Gateway, name: str, digest: str, by: str) -> None:
    """Looks at the settings before and after, so that the answer and the servers are of today."""
    await gateway.live.look()
    await gateway.service.accept_server(name, digest, by)
    await gateway.live.look()
