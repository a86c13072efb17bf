"""Auth profiles: the keys of model providers by name. What they hold is never told."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from colleague.agent.models.profile_report import ProfileDocument
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import RequestBody
from colleague.main_names import MAIN_AGENT
from colleague.runtime.local_service import LocalService

router = APIRouter(prefix="/api/auth-profiles", tags=["models"])

AgentId = Annotated[str, Query(description="Whose profiles and order.", max_length=200)]


class AuthProfileDocument(BaseModel):
    """A key of a provider, never the key itself. `state`: ready, cooldown, or unusable with a `problem`."""

    model_config = ConfigDict(extra="allow")

    profile: str
    provider: str
    place: int
    mode: str
    state: str
    problem: str | None
    source: str
    cooldowns: list[dict[str, Any]]
    last_used: str | None
    failures: dict[str, int]


class OrderAsked(RequestBody):
    provider: Annotated[str, Field(min_length=1, max_length=200)]
    profiles: Annotated[list[str], Field(max_length=200)]
    agent: Annotated[str, Field(max_length=200)] = MAIN_AGENT


class ClearCooldownAsked(RequestBody):
    profiles: Annotated[list[str], Field(max_length=200)] = Field(default_factory=list)


class CooldownsCleared(BaseModel):
    """Those that were at rest."""

    cleared: list[str]


class StatisticsForgotten(BaseModel):
    profile: str


@router.get("", response_model=list[AuthProfileDocument], responses=with_token(404))
async def list_profiles(gateway: GatewayDep, agent: AgentId = MAIN_AGENT) -> list[ProfileDocument]:
    """By provider, in the order they are tried, and how each has done."""
    return await (await _service(gateway)).auth_profiles(agent)


@router.put("/order", response_model=list[AuthProfileDocument], responses=with_token(404))
async def set_order(asked: OrderAsked, gateway: GatewayDep) -> list[ProfileDocument]:
    """Set the order of one provider's profiles; an empty list: the settings decide again."""
    service = await _service(gateway)
    return await service.order_auth_profiles(asked.agent, asked.provider, asked.profiles)


@router.post("/clear-cooldown", response_model=CooldownsCleared, responses=with_token(404))
async def clear_cooldown(asked: ClearCooldownAsked, gateway: GatewayDep) -> CooldownsCleared:
    """Let profiles that rest be tried at once; all of them when the list is empty."""
    return CooldownsCleared(cleared=await (await _service(gateway)).clear_cooldowns(asked.profiles))


@router.delete("/{name}/statistics", response_model=StatisticsForgotten, responses=with_token())
async def forget(name: str, gateway: GatewayDep) -> StatisticsForgotten:
    """Forget how a profile has done, also of one that is no longer in the settings."""
    await (await _service(gateway)).forget_auth_profile(name)
    return StatisticsForgotten(profile=name)


async def _service(gateway: Gateway) -> LocalService:
    """With the settings as the files are now: a profile may have been added a moment ago."""
    await gateway.live.look()
    return gateway.service
