"""Skills: which there are, and whether an agent can use them in the environment of this gateway."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from colleague.agent.session_skills import skill_conditions
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.main_names import MAIN_AGENT
from colleague.session_key import SessionKey
from colleague.skills.collection import SkillCollection, load_skills
from colleague.skills.eligibility import SkillConditions
from colleague.skills.places import SkillPlaces
from colleague.skills.report import skill_document, skill_documents

router = APIRouter(prefix="/api/skills", tags=["skills"])


class SkillNeedsDocument(BaseModel):
    """What must be there before a skill is used; of `any_bins` one is enough."""

    os: list[str]
    bins: list[str]
    any_bins: list[str]
    env: list[str]
    config: list[str]
    always: bool


class SkillDocument(BaseModel):
    """A skill. `reasons` say why it is not used; `variables` are the names of those that its commands get."""

    name: str
    status: Literal["ready", "not eligible", "overridden", "broken"]
    source: Literal["plugin", "extra", "bundled", "managed", "workspace"]
    folder: str
    description: str
    reasons: list[str]
    hint: str | None
    homepage: str | None
    requires: SkillNeedsDocument | None
    primary_env: str | None
    variables: list[str]
    install: list[str]
    allowed_tools: list[str]
    user_invocable: bool
    model_invocable: bool
    warnings: list[str]


@router.get("", response_model=list[SkillDocument], responses=with_token(404))
async def list_skills(gateway: GatewayDep, agent: str = MAIN_AGENT) -> list[dict[str, Any]]:
    """Every skill, by name, with the reasons why one is not used. `agent` is an id of agents.list."""
    return skill_documents(*await asyncio.to_thread(_loaded, gateway, agent))


@router.get("/{name}", response_model=SkillDocument, responses=with_token(404))
async def get_skill(name: str, gateway: GatewayDep, agent: str = MAIN_AGENT) -> dict[str, Any]:
    """One skill, by its name."""
    return skill_document(*await asyncio.to_thread(_loaded, gateway, agent), name)


def _loaded(gateway: Gateway, agent: str) -> tuple[SkillCollection, SkillConditions]:
    settings = gateway.live.settings.for_agent(agent)
    main = gateway.host.main_agent
    places = SkillPlaces.of(settings, main.plugin_skills if main else ())
    return load_skills(places), skill_conditions(settings, gateway.environ, str(SessionKey.for_main(agent)))
