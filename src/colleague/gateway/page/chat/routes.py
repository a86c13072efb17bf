"""Looking at sessions on the page: the list, one conversation, search, and what agents show."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from colleague.agent.canvas.page import canvas_page
from colleague.agent.pictures.avatar import agent_ids
from colleague.agent_document import AgentDocument
from colleague.experts.expert import listed_experts
from colleague.gateway.api.agents import agent_document, avatar
from colleague.gateway.api.media import media
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.chat.conversation import ShownConversation, read_conversation
from colleague.gateway.page.chat.notice import Notice
from colleague.gateway.page.chat.stream import StreamPlace, chat_stream
from colleague.gateway.page.chat.tree import session_name, session_path, session_tree
from colleague.gateway.page.render import HEADERS, page
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.gateway.streams import EVENT_STREAM
from colleague.main_names import MAIN_AGENT, MAIN_SESSION
from colleague.session_key import SessionKey
from colleague.session_text import WHAT_BECAME
from colleague.sessions.slash_command import COMMANDS
from colleague.store.canvases import canvas_document
from colleague.store.ids import new_id

router = APIRouter(include_in_schema=False)

MOST_HITS = 50
QueryText = Annotated[str, Query(max_length=400)]
Position = Annotated[int | None, Query(ge=0, le=2**53)]
WITH_FRAMES = {"Content-Security-Policy": HEADERS["Content-Security-Policy"] + "; frame-src 'self'"}
"""Of the page around what an agent shows."""
FRAME = dict(HEADERS) | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; "
    "frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""Of the frame itself: it runs nothing, loads nothing and is of no origin, however it is opened."""


@router.get("/chat")
async def show_main(visitor: VisitorDep, gateway: GatewayDep, told: QueryText = "") -> HTMLResponse:
    found = await read_conversation(gateway, MAIN_SESSION, visitor)
    return conversation_page(visitor, found, _notice(told), agent=await agent_of(gateway, found))


@router.get("/chat/sessions")
async def list_sessions(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    return await sessions_page(gateway, visitor)


async def sessions_page(gateway: Gateway, visitor: Visitor, problem: str = "") -> HTMLResponse:
    """The list alone, with the form for a new one."""
    tree = await gateway.database.read(session_tree)
    agents = dict.fromkeys([MAIN_AGENT, *(each.id for each in gateway.live.settings.agents.all)])
    experts = [each.name for each in listed_experts(gateway.home)] if visitor.is_admin else []
    more: dict[str, Any] = {"agents": list(agents), "experts": experts, "problem": problem, "current": ""}
    return page("chat_sessions.html", visitor, tree=tree, **more)


@router.get("/chat/search")
async def search(visitor: VisitorDep, gateway: GatewayDep, q: QueryText = "") -> HTMLResponse:
    hits = await gateway.service.search(q, limit=MOST_HITS) if q.strip() else []
    found = [
        {
            **hit,
            "name": session_name(hit["session_key"], hit["label"]),
            "href": _place(hit["session_key"], hit["archive"], hit["position"]),
        }
        for hit in hits
    ]
    tree = await gateway.database.read(session_tree)
    return page("chat_search.html", visitor, hits=found, query=q, tree=tree, current="", most=MOST_HITS)


def _place(key: str, archive: str | None, position: int) -> str:
    """A part of the conversation in which this item is near the end."""
    inside = f"&archive={archive}" if archive else ""
    return f"{session_path(key)}?before={position + 10}{inside}#item-{position}"


@router.get("/chat/session/{key}")
async def show_session(
    key: str,
    visitor: VisitorDep,
    gateway: GatewayDep,
    before: Position = None,
    archive: Annotated[str | None, Query(max_length=100)] = None,
    told: QueryText = "",
) -> HTMLResponse:
    found = await read_conversation(gateway, key, visitor, before=before, archive=archive)
    agent = await agent_of(gateway, found)
    return conversation_page(visitor, found, _notice(told), earlier=before is not None, agent=agent)


async def agent_of(gateway: Gateway, found: ShownConversation) -> AgentDocument | None:
    """Who is talked to; None for an expert, and for an agent that is gone."""
    key = SessionKey.parse(found.session["key"])
    known = key.agent_id in agent_ids(gateway.live.settings)
    return await agent_document(gateway, key.agent_id) if known and not key.is_of_expert else None


def conversation_page(
    visitor: Visitor,
    found: ShownConversation,
    notice: Notice | None = None,
    *,
    draft: str = "",
    earlier: bool = False,
    agent: AgentDocument | None = None,
) -> HTMLResponse:
    """One conversation. `earlier`: not its end, so that nothing is added to it."""
    more: dict[str, Any] = {
        "chat": found,
        "agent": agent,
        "tree": found.tree,
        "current": found.session["key"],
        "notice": notice,
        "draft": draft,
        "live": not earlier and found.archive is None,
        "once": new_id(),
        "commands": COMMANDS,
    }
    return page("chat.html", visitor, headers=WITH_FRAMES, **more)


def _notice(told: str) -> Notice | None:
    """What became of a message that was sent without a script."""
    for queued, words in WHAT_BECAME.items():
        if told == queued:
            return Notice((words,), passing=True)
    return None


@router.get("/chat/session/{key}/events")
async def events(
    key: str,
    visitor: VisitorDep,
    gateway: GatewayDep,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    transcript: Annotated[str, Query(max_length=100)] = "",
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=15)] = None,
) -> StreamingResponse:
    """What happens in the conversation, as parts of the page, until it is closed."""
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    session = await gateway.service.session(key)
    place = StreamPlace(session["key"], seen, transcript or session["session_id"])
    headers = dict(HEADERS) | {"X-Accel-Buffering": "no"}
    return StreamingResponse(chat_stream(gateway, visitor, place), media_type=EVENT_STREAM, headers=headers)


@router.get("/chat/canvas/{id}")
async def show_canvas(
    id: str,  # noqa: A002
    _: VisitorDep,
    gateway: GatewayDep,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> HTMLResponse:
    """What an agent shows, for a frame of its own."""
    shown = await gateway.database.read(lambda tx: canvas_document(tx, id, version))
    return HTMLResponse(canvas_page(shown["title"], shown["kind"], shown["content"]), headers=FRAME)


@router.get("/chat/media/{sha256}")
async def show_media(
    _: VisitorDep, gateway: GatewayDep, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    """A picture or sound of a message."""
    return await media(gateway, sha256)


@router.get("/chat/avatar/{agent}")
async def show_avatar(_: VisitorDep, gateway: GatewayDep, agent: str) -> Response:
    """The picture of an agent."""
    return await avatar(agent, gateway)
