"""What the home is connected to: models, channels, and settings without effect."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import RequestBody
from colleague.settings_document import ChannelDocument, IdleKey, ModelProbe, OfferedModel

router = APIRouter(prefix="/api", tags=["connections"])


class ModelAsked(RequestBody):
    """As provider/model, or script/FILE; empty for the default one."""

    model: Annotated[str, Field(max_length=300)] = ""


@router.get("/models", response_model=list[OfferedModel], responses=with_token())
async def list_models(gateway: GatewayDep) -> list[OfferedModel]:
    return await gateway.service.models()


@router.post("/models/probe", response_model=ModelProbe, responses=with_token())
async def probe(asked: ModelAsked, gateway: GatewayDep) -> ModelProbe:
    """Send one tiny request; what goes wrong is in the answer."""
    return await gateway.service.probe_model(asked.model)


@router.get("/channels", response_model=list[ChannelDocument], responses=with_token())
async def list_channels(gateway: GatewayDep) -> list[ChannelDocument]:
    """Where results can be sent to, and what the settings name without anything connecting to it."""
    return await gateway.service.channels()


@router.get("/settings/idle", response_model=list[IdleKey], responses=with_token())
async def list_idle(gateway: GatewayDep) -> list[IdleKey]:
    """Keys that are set and have no effect."""
    return await gateway.service.idle_settings()
