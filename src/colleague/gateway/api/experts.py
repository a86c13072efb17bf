"""Experts: which there are, what each can do, and how it is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from colleague.expert_document import (
    BindableDocument,
    ExpertActivity,
    ExpertPrompt,
    LearningsDocument,
    ValidationDocument,
)
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import ExpertBrief, ExpertDocument, RequestBody

router = APIRouter(prefix="/api", tags=["experts"])


class RestoreAsked(RequestBody):
    """A file of an expert, and the version that it is to have again."""

    file: Annotated[str, Field(min_length=1, max_length=1000)]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class Restored(BaseModel):
    """`version` is the new one; null when the file has that text already."""

    path: str
    version: int | None


class CheckAsked(RequestBody):
    """`probe`: the servers that its tools are bound to are started and asked."""

    probe: bool = False


@router.get("/experts", response_model=list[ExpertBrief], responses=with_token(409))
async def list_experts(gateway: GatewayDep) -> list[dict[str, Any]]:
    """Every expert in the home, by name."""
    return await gateway.service.experts()


@router.get("/experts/{name}", response_model=ExpertDocument, responses=with_token(404, 409))
async def show(name: str, gateway: GatewayDep) -> dict[str, Any]:
    """One expert: triggers, tools, tiers, processes. Private knowledge is left out."""
    return await gateway.service.expert(name)


@router.post("/experts/{name}/check", response_model=ValidationDocument, responses=with_token(404, 409))
async def check(name: str, gateway: GatewayDep, asked: CheckAsked | None = None) -> ValidationDocument:
    """What is wrong with it, and the cure."""
    return await gateway.service.check_expert(name, probe=(asked or CheckAsked()).probe)


@router.get("/experts/{name}/activity", response_model=ExpertActivity, responses=with_token(404, 409))
async def activity(name: str, gateway: GatewayDep) -> ExpertActivity:
    """Open lanes, spend against budgets, the last events."""
    return await gateway.service.expert_activity(name)


@router.get("/experts/{name}/prompt", response_model=ExpertPrompt, responses=with_token(404, 409))
async def prompt(name: str, gateway: GatewayDep) -> ExpertPrompt:
    """Its system prompt, with the size of each section."""
    return await gateway.service.expert_prompt(name)


@router.get("/experts/{name}/learnings", response_model=LearningsDocument, responses=with_token(404, 409))
async def learnings(name: str, gateway: GatewayDep) -> LearningsDocument:
    """What it has learned, and what it proposes to learn."""
    return await gateway.service.learnings(name)


@router.get("/experts/{name}/bindable", response_model=BindableDocument, responses=with_token(404, 409))
async def bindable(name: str, gateway: GatewayDep) -> BindableDocument:
    """The servers and skills that its tools can be bound to."""
    return await gateway.service.bindable(name)


@router.post("/experts/{name}/state", response_model=Restored, responses=with_token(404))
async def restore(name: str, asked: RestoreAsked, gateway: GatewayDep) -> dict[str, Any]:
    """Puts a version of a file back, as a new one. `version` is null when the file has that text already."""
    return await gateway.service.restore(name, asked.file, asked.version)
