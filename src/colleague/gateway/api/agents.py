"""The agents of this home, and their pictures."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from colleague.agent.pictures.avatar import Avatar, agent_ids, avatar_of
from colleague.agent_document import AgentDocument
from colleague.errors import NotFound
from colleague.experts.restrictions import ExpertRestrictions
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token

router = APIRouter(prefix="/api/agents", tags=["sessions"])

_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=60",
}


@router.get("", response_model=list[AgentDocument], responses=with_token())
async def list_agents(gateway: GatewayDep) -> list[AgentDocument]:
    """The agents that people can talk to, the main one first."""
    return [await agent_document(gateway, each) for each in agent_ids(gateway.live.settings)]


@router.get("/{agent}/avatar", response_class=Response, responses=with_token(404))
async def avatar(agent: str, gateway: GatewayDep) -> Response:
    """The picture of an agent, from its workspace."""
    gateway.live.settings.for_agent(agent)  # raises NotFound
    found = await read_avatar(gateway, agent)
    if found.header is None:
        raise NotFound(found.problem or f"the agent {agent} has no picture", hint="set its identity.avatar")
    return Response(found.data, media_type=found.header.media_type, headers=_HEADERS)


async def agent_document(gateway: Gateway, agent: str) -> AgentDocument:
    entry = gateway.live.settings.agents.of(agent)
    found = await read_avatar(gateway, agent)
    return {
        "id": agent,
        "name": (entry.identity.name or entry.name) if entry else None,
        "description": entry.description if entry else None,
        "emoji": found.emoji or None,
        "avatar": f"/api/agents/{agent}/avatar" if found.header else None,
        "avatar_problem": found.problem or None,
    }


async def read_avatar(gateway: Gateway, agent: str) -> Avatar:
    settings = gateway.live.settings
    return await asyncio.to_thread(
        avatar_of, gateway.home, settings, agent, ExpertRestrictions(gateway.home, settings)
    )
