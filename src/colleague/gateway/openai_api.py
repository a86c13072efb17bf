"""The gateway as OpenAI's API: programs that know chat completions talk to agents and experts."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from colleague.experts.expert import discover
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openai_answer import accept_turn, answer_stream, whole_answer
from colleague.gateway.openai_request import AGENT, EXPERT, ChatAsked, read_turn
from colleague.gateway.openapi import with_token
from colleague.gateway.streams import EVENT_STREAM
from colleague.main_names import MAIN_AGENT

router = APIRouter(prefix="/v1", tags=["openai"])
OWNER = "colleague"

SessionHeader = Annotated[str | None, Header(alias="x-openclaw-session-key", max_length=512)]
RepeatHeader = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


class ModelDocument(BaseModel):
    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = OWNER


class ModelList(BaseModel):
    object: str = "list"
    data: list[ModelDocument]


class ChatCompletion(BaseModel):
    """As OpenAI answers; `colleague` has the session, the run and the questions that wait for a person."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    colleague: dict[str, Any]


@router.get("/models", response_model=ModelList, responses=with_token())
async def list_models(gateway: GatewayDep) -> ModelList:
    """Whom one can talk to: main, the other agents, the experts."""
    return ModelList(data=[ModelDocument(id=each) for each in await _names(gateway)])


@router.get("/models/{model:path}", response_model=ModelDocument, responses=with_token(404))
async def show_model(model: str, gateway: GatewayDep) -> ModelDocument:
    if model not in await _names(gateway):
        raise ApiError(404, "model_not_found", f"there is no model {model!r}; GET /v1/models has them")
    return ModelDocument(id=model)


async def _names(gateway: Gateway) -> list[str]:
    agents = [MAIN_AGENT, *(each.id for each in gateway.live.settings.agents.all)]
    experts = await asyncio.to_thread(discover, gateway.home)
    names = [
        MAIN_AGENT,
        *(f"{AGENT}{each}" for each in agents),
        *(f"{EXPERT}{each.name}" for each in experts),
    ]
    return list(dict.fromkeys(names))


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    responses={
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
        **with_token(404, 409),
    },
)
async def complete(
    asked: ChatAsked, gateway: GatewayDep, session: SessionHeader = None, repeat_key: RepeatHeader = None
) -> Any:
    """One turn of an agent, or one task of an expert.

    With `user` or x-openclaw-session-key the session is kept, and only the last user message is taken;
    without, the messages are the whole conversation, and nothing is remembered."""
    service = gateway.service
    turn = read_turn(asked, gateway.live.settings, session, repeat_key)
    accepted = await accept_turn(service, turn, asked.model)
    if not asked.stream:
        return await whole_answer(service, accepted)
    usage = asked.stream_options is not None and asked.stream_options.include_usage
    stream = answer_stream(service, accepted, usage=usage)
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})
