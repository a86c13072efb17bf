"""Grants: standing permissions, listed and revocable."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from colleague.gateway.documents import GrantDocument, Revoked
from colleague.gateway.gateway import Here
from colleague.gateway.openapi import with_token
from colleague.store.grants import Grant, all_grants
from colleague.store.lookup import full_id
from colleague.store.report import iso
from colleague.store.tables import grants

router = APIRouter(prefix="/api/grants", tags=["grants"])


@router.get("", response_model=list[GrantDocument], responses=with_token())
async def list_grants(here: Here) -> list[dict[str, Any]]:
    """The newest first, with how often each was used."""
    return [_document(each) for each in await here.database.read(all_grants)]


@router.delete("/{id}", response_model=Revoked, responses=with_token(404))
async def revoke(id: str, here: Here) -> Revoked:  # noqa: A002 - contract
    """From now on people are asked again."""
    grant_id = await here.database.read(lambda tx: full_id(tx, grants, "grant", id))
    await here.operator.revoke(grant_id)
    return Revoked(id=grant_id)


def _document(grant: Grant) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at")
    return asdict(grant) | {name: iso(getattr(grant, name)) for name in times}
