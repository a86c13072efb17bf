"""Sessions: what was said, saying something, and what a person sets, stops and resets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.paging import PageAfter, PageSize, link_next
from colleague.gateway.schemas import MOST_WAIT, JsonObject, Name, RequestBody, SmallMap, storable
from colleague.gateway.stream_options import StreamDep
from colleague.gateway.streams import EVENT_STREAM, session_stream
from colleague.run_document import ApprovalDocument
from colleague.runtime.requests import MOST_CHARACTERS, MessageRequest
from colleague.session_document import (
    ArchiveDocument,
    ItemDocument,
    PromptDocument,
    PromptMode,
    Queued,
    SessionDocument,
    StoppedDocument,
)
from colleague.sessions.report import session_document
from colleague.store.paging import Page
from colleague.store.session_entry import sessions_page
from colleague.store.tx import Tx
from colleague.tool_document import ToolDocument

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

WHO = "api"
ItemAfter = Annotated[int, Query(ge=0, le=2**53, description="The position of the last item of a page")]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=15)]
ArchiveId = Annotated[str | None, Query(max_length=100, description="An archive, by its id")]


class MessageAsked(RequestBody):
    """What is said to a session, and how its turn is to run."""

    text: Annotated[str, Field(min_length=1), AfterValidator(storable)]
    model: Name = ""
    queue_mode: Name | None = None
    """steer, followup, collect, steer-backlog, queue or interrupt; left out, the session's own mode."""
    wait: Annotated[float, Field(ge=0, le=MOST_WAIT)] | None = None
    """Seconds for which the answer of the turn is waited for."""
    thinking: Name = ""
    disable_tools: bool = False
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    extra_system_prompt: Annotated[str, Field(max_length=100_000), AfterValidator(storable)] = ""
    sender: SmallMap = Field(default_factory=dict)
    """id, name, username, e164: of the person, as the channel knows them."""
    place: SmallMap = Field(default_factory=dict)
    """channel, account, to, thread, group, group_channel, group_space: where the message comes from."""
    attachments: Annotated[list[JsonObject], Field(max_length=50)] = Field(default_factory=list)
    dedupe_key: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(storable)] | None = None
    """The same message sent twice with the same key is taken once."""


class MessageSent(BaseModel):
    """What became of a message. `run_id` is the turn that it started or steers; null while it waits. `reason`
    says why it was dropped or denied; `problems` say which pictures and files were left out, and why."""

    event_id: str
    run_id: str | None
    queued: Queued
    session_key: str
    duplicate: bool = False
    reason: str | None = None
    problems: tuple[str, ...] = ()


class TurnAnswered(BaseModel):
    """How the turn of a message came out. `approvals` are its questions that wait for a person."""

    event_id: str
    run_id: str | None
    session_key: str
    status: Literal["done", "waiting", "skipped"]
    outcome: str | None
    text: str
    approvals: list[ApprovalDocument]
    error: str | None


class SessionChanges(BaseModel):
    """What is given is set; null clears it. The session itself says what it does not have."""

    model_config = ConfigDict(extra="allow")

    label: str | None = None
    model: Name | None = None
    thinking: Name | None = None
    reasoning: Name | None = None
    verbose: Name | None = None
    send_policy: Name | None = None
    queue_mode: Name | None = None


class SessionBy(RequestBody):
    by: Name = ""


class CompactAsked(RequestBody):
    instructions: Annotated[str, Field(max_length=10_000, description="What must stay")] = ""


@router.get("", response_model=list[SessionDocument], responses=with_token())
async def list_sessions(
    gateway: GatewayDep, request: Request, response: Response, limit: PageSize = 200, after: PageAfter = None
) -> list[SessionDocument]:
    """The one that was last at work first. The header Link has the next page, if there is one; `after` is the
    `session_id` of the last one of a page."""

    def work(tx: Tx) -> Page[SessionDocument]:
        page = sessions_page(tx, limit=limit, after=after)
        return Page([session_document(tx, each) for each in page.items], page.next_after)

    page = await gateway.database.read(work)
    link_next(request, response, page)
    return page.items


@router.get("/{key:path}/messages", response_model=list[ItemDocument], responses=with_token(404))
async def messages(
    key: str, gateway: GatewayDep, after: ItemAfter = 0, limit: PageSize = 200, archive: ArchiveId = None
) -> list[ItemDocument]:
    """What people saw in a session, the oldest first, from a position on."""
    return await gateway.service.items(key, after=after, limit=limit, archive=archive)


@router.post(
    "/{key:path}/messages",
    status_code=202,
    response_model=MessageSent | TurnAnswered,
    responses={200: {"model": TurnAnswered, "description": "The turn came out"}, **with_token(404, 409)},
)
async def send(
    key: str, asked: MessageAsked, gateway: GatewayDep, response: Response
) -> MessageSent | TurnAnswered:
    """Say something to a session; one that is not there is made.

    With `wait`, the answer is how the turn came out, unless that takes longer or the message is not taken."""
    if len(asked.text) > MOST_CHARACTERS:
        raise _too_long(asked.text)
    sent = await gateway.service.send(key, _message(asked))
    taken = sent.queued not in ("dropped", "denied")
    answer = await gateway.service.turn_answer(sent, asked.wait) if asked.wait and taken else None
    if answer is None:
        return MessageSent(**asdict(sent))
    response.status_code = 200
    return TurnAnswered(event_id=sent.event_id, session_key=sent.session_key, **vars(answer))


def _too_long(text: str) -> ApiError:
    message = f"the message has {len(text)} characters, and at most {MOST_CHARACTERS} are taken"
    hint = "put the text into a file that the agent can read"
    return ApiError(413, "too-large", message, more={"hint": hint})


def _message(asked: MessageAsked) -> MessageRequest:
    given: dict[str, Any] = asked.model_dump(exclude={"wait"})
    return MessageRequest(**given | {"attachments": tuple(asked.attachments)})


@router.post("/{key:path}/stop", response_model=StoppedDocument, responses=with_token(404, 409))
async def stop(key: str, gateway: GatewayDep, asked: SessionBy | None = None) -> StoppedDocument:
    """End the turn at work, and what waits behind it."""
    return await gateway.service.stop_session(key, (asked or SessionBy()).by or WHO)


@router.post("/{key:path}/reset", response_model=SessionDocument, responses=with_token(404, 409))
async def reset(key: str, gateway: GatewayDep, asked: SessionBy | None = None) -> SessionDocument:
    """Begin another transcript; the one before stays as an archive."""
    return await gateway.service.reset_session(key, (asked or SessionBy()).by or WHO)


@router.post(
    "/{key:path}/compact", status_code=202, response_model=MessageSent, responses=with_token(404, 409)
)
async def compact(key: str, gateway: GatewayDep, asked: CompactAsked | None = None) -> MessageSent:
    """Shorten what the model sees, in a turn of its own; the whole transcript stays."""
    sent = await gateway.service.compact_session(key, (asked or CompactAsked()).instructions)
    return MessageSent(**asdict(sent))


@router.get("/{key:path}/archive", response_model=list[ArchiveDocument], responses=with_token(404))
async def archives(key: str, gateway: GatewayDep) -> list[ArchiveDocument]:
    """Transcripts that a reset has ended, the latest first."""
    return await gateway.service.archives(key)


@router.get(
    "/{key:path}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}, **with_token(404)},
)
async def events(
    key: str,
    gateway: GatewayDep,
    options: StreamDep,
    after: ItemAfter | None = None,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """What happens in a session from now on, as server-sent events.

    `message`, `session_status`, and the events of its runs. With a position, or Last-Event-ID, the messages
    after it come first."""
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    await gateway.service.session(key)
    stream = session_stream(gateway.service.session_events(key, seen), options)
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})


@router.get("/{key:path}/prompt", response_model=PromptDocument, responses=with_token(404))
async def prompt(key: str, gateway: GatewayDep, mode: PromptMode | None = None) -> PromptDocument:
    """The system prompt that the next turn would have, with the characters of each section and file."""
    return await gateway.service.prompt(key, mode)


@router.get("/{key:path}/tools", response_model=list[ToolDocument], responses=with_token(404))
async def tools(key: str, gateway: GatewayDep) -> list[ToolDocument]:
    """Every tool that the next turn could have: offered or not, its tier, and the layer that decided."""
    return await gateway.service.tools(key)


@router.get("/{key:path}/tools/{name}", response_model=ToolDocument, responses=with_token(404))
async def tool(key: str, name: str, gateway: GatewayDep) -> ToolDocument:
    """One tool of a session, with what each layer of the policy says of it."""
    return await gateway.service.tool(key, name)


@router.get("/{key:path}", response_model=SessionDocument, responses=with_token(404))
async def show(key: str, gateway: GatewayDep) -> SessionDocument:
    """One session, by its key or label. The main session of an agent is always there."""
    return await gateway.service.session(key)


@router.patch("/{key:path}", response_model=SessionDocument, responses=with_token(404, 409))
async def change(key: str, asked: SessionChanges, gateway: GatewayDep) -> SessionDocument:
    """Set what is given, clear what is null; a session that is not there is made."""
    return await gateway.service.change_session(key, asked.model_dump(exclude_unset=True))
