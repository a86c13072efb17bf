"""People who use the page: adding, listing and removing them, and links to sign in with."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import Removed, RequestBody
from colleague.person_document import PersonDocument, SignInLink

router = APIRouter(prefix="/api/people", tags=["people"])


class PersonAsked(RequestBody):
    name: Annotated[str, Field(max_length=64)]
    role: Annotated[str, Field(max_length=20)] = "approver"
    experts: Annotated[list[str], Field(max_length=1_000)] = Field(default_factory=list)


class SignedOut(BaseModel):
    name: str
    browsers: int


@router.get("", response_model=list[PersonDocument], responses=with_token())
async def list_people(gateway: GatewayDep) -> list[PersonDocument]:
    return await gateway.service.people()


@router.post("", response_model=SignInLink, responses=with_token(409))
async def add(asked: PersonAsked, gateway: GatewayDep) -> SignInLink:
    """Add somebody, or change their role; the link signs them in once."""
    return await gateway.service.add_person(asked.name, asked.role, asked.experts)


@router.post("/{name}/link", response_model=SignInLink, responses=with_token(404))
async def link(name: str, gateway: GatewayDep) -> SignInLink:
    """Another link for somebody who is there."""
    return await gateway.service.link_person(name)


@router.post("/{name}/sign-out", response_model=SignedOut, responses=with_token(404))
async def sign_out(name: str, gateway: GatewayDep) -> SignedOut:
    """Sign somebody out everywhere; `operator` is whoever has the token."""
    return SignedOut(name=name, browsers=await gateway.service.sign_out_person(name))


@router.delete("/{name}", response_model=Removed, responses=with_token(404))
async def remove(name: str, gateway: GatewayDep) -> Removed:
    """What they decided keeps their name; their browsers are signed out."""
    await gateway.service.remove_person(name)
    return Removed(name=name)
