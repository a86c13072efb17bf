"""Grants: standing permissions, listed and revocable."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from colleague.experts.grant_report import GrantReports
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import Revoked
from colleague.store.grants import Grant, all_grants, ended_runs, get_grant
from colleague.store.lookup import full_id
from colleague.store.tables import grants
from colleague.store.tx import Tx

router = APIRouter(prefix="/api/grants", tags=["grants"])


class GrantDocument(BaseModel):
    """`covers` says it in a sentence; `reason` why it does not count, when `state` is not `live`. `only` are
    arguments that a call must have."""

    id: str
    expert: str
    operation: str
    run_id: str | None
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    uses: int
    approval_id: str | None
    server: str | None
    tool: str | None
    launch_digest: str | None
    schema_digest: str | None
    package_digest: str | None
    only: dict[str, Any]
    state: Literal["live", "lapsed", "expired", "revoked", "ended"]
    reason: str
    covers: str


@router.get("", response_model=list[GrantDocument], responses=with_token())
async def list_grants(gateway: GatewayDep) -> list[dict[str, Any]]:
    """The newest first: what each covers, whether it counts now, and how often it was used."""
    return await _documents(gateway, await gateway.database.read(all_grants))


@router.get("/{id}", response_model=GrantDocument, responses=with_token(404))
async def show(id: str, gateway: GatewayDep) -> dict[str, Any]:  # noqa: A002 - contract
    def work(tx: Tx) -> Grant:
        return get_grant(tx, full_id(tx, grants, "grant", id))

    [document] = await _documents(gateway, [await gateway.database.read(work)])
    return document


@router.delete("/{id}", response_model=Revoked, responses=with_token(404))
async def revoke(id: str, gateway: GatewayDep) -> Revoked:  # noqa: A002 - contract
    """From now on people are asked again."""
    grant_id = await gateway.database.read(lambda tx: full_id(tx, grants, "grant", id))
    await gateway.service.revoke(grant_id)
    return Revoked(id=grant_id)


async def _documents(gateway: Gateway, found: list[Grant]) -> list[dict[str, Any]]:
    now, ended = await gateway.database.read(lambda tx: (tx.now, ended_runs(tx, found)))
    reports = GrantReports(gateway.home, gateway.live.settings, gateway.environ, now, ended)
    return await asyncio.to_thread(lambda: [reports.document(each) for each in found])
