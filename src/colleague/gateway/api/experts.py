"""Experts: which there are, and what each can do."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter

from colleague.errors import BindingsError
from colleague.experts.bindings import Bindings, read_bindings
from colleague.experts.expert import Expert, discover, find_expert
from colleague.experts.summary import brief, full
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import ExpertBrief, ExpertDocument, RestoreAsked, Restored
from colleague.home import Home
from colleague.packages.finding import Findings

router = APIRouter(prefix="/api", tags=["experts"])


@router.get("/experts", response_model=list[ExpertBrief], responses=with_token(409))
async def list_experts(here: GatewayDep) -> list[dict[str, Any]]:
    """Every expert in the home, by name."""
    return await asyncio.to_thread(_all, here.home)


@router.get("/experts/{name}", response_model=ExpertDocument, responses=with_token(404, 409))
async def show(name: str, here: GatewayDep) -> dict[str, Any]:
    """One expert: triggers, tools, tiers, processes. Private knowledge is left out."""
    return await asyncio.to_thread(_one, here.home, name)


@router.post("/experts/{name}/state", response_model=Restored, responses=with_token(404))
async def restore(name: str, asked: RestoreAsked, here: GatewayDep) -> dict[str, Any]:
    """Puts a version of a file back, as a new one. `version` is null when the file has that text already."""
    return await here.service.restore(name, asked.file, asked.version)


def _all(home: Home) -> list[dict[str, Any]]:
    return [brief(each, each.read_manifest(), _bindings(each, strict=False)) for each in discover(home)]


def _one(home: Home, name: str) -> dict[str, Any]:
    expert = find_expert(home, name)
    return full(expert, expert.load(), _bindings(expert, strict=True))


def _bindings(expert: Expert, *, strict: bool) -> Bindings:
    findings = Findings()
    bindings = read_bindings(expert.bindings_file, findings)
    if strict and findings.errors:
        raise BindingsError(str(findings.errors[0]), hint=f"mend {expert.bindings_file.name}")
    return bindings
