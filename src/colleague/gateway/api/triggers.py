"""Triggers: how they stand, and firing, pausing and resuming them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import AcceptedDocument, Changed, Json, Name, RequestBody, TriggerDocument

router = APIRouter(prefix="/api", tags=["triggers"])


class FireAsked(RequestBody):
    payload: Json = Field(default_factory=dict)


class PauseAsked(RequestBody):
    by: Annotated[str, Field(max_length=200)] = ""


@router.get("/triggers", response_model=list[TriggerDocument], responses=with_token())
async def list_triggers(gateway: GatewayDep, expert: Name = "") -> list[dict[str, Any]]:
    """All triggers of all experts, or of one, with what holds each of them up; then what agents planned
    themselves."""
    return await gateway.service.triggers(expert)


@router.post(
    "/triggers/{expert}/{trigger}/fire",
    status_code=202,
    response_model=AcceptedDocument,
    responses=with_token(404, 409),
)
async def fire(
    expert: str, trigger: str, gateway: GatewayDep, asked: FireAsked | None = None
) -> AcceptedDocument:
    """An event by hand, in the way a real one takes."""
    payload = (asked or FireAsked()).payload
    accepted = await gateway.service.fire(expert, trigger, payload)
    held = accepted.run_id is None and not accepted.duplicate
    return AcceptedDocument(
        event_id=accepted.event_id, run_id=accepted.run_id, duplicate=accepted.duplicate, held=held
    )


@router.post("/triggers/{expert}/{trigger}/pause", response_model=Changed, responses=with_token(404))
async def pause(expert: str, trigger: str, gateway: GatewayDep, asked: PauseAsked | None = None) -> Changed:
    """Hold what comes from now on. `changed` is false when it was paused already."""
    by = (asked or PauseAsked()).by.strip() or "api"
    return Changed(changed=await gateway.service.pause(expert, trigger, by))


@router.post("/triggers/{expert}/{trigger}/resume", response_model=Changed, responses=with_token(404, 409))
async def resume(expert: str, trigger: str, gateway: GatewayDep) -> Changed:
    """Let it go on; what was held begins in the order in which it came."""
    released = await gateway.service.resume(expert, trigger)
    return Changed(changed=released is not None, released=released)
