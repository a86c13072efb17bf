"""What a person does in a conversation on the page: say something, stop, begin anew, decide."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import Response

from colleague.errors import ColleagueError, UsageError
from colleague.experts.expert import find_expert
from colleague.gateway.api.approvals import decide_in
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.chat.conversation import read_conversation
from colleague.gateway.page.chat.notice import Notice
from colleague.gateway.page.chat.routes import agent_of, conversation_page, sessions_page
from colleague.gateway.page.chat.slash import CommandAnswer, PageCommands
from colleague.gateway.page.chat.tree import session_path
from colleague.gateway.page.chat.uploads import SentForm, SentFormDep, attached_content
from colleague.gateway.page.decision_form import decision_of
from colleague.gateway.page.form import FormDep
from colleague.gateway.page.render import decided, page, redirect
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.home import Home
from colleague.main_names import MAIN_AGENT
from colleague.runtime.requests import MessageRequest, SentMessage
from colleague.session_key import SessionKey
from colleague.session_text import WHAT_BECAME, stopped_text
from colleague.sessions.slash_command import PlainMessage, parse_line
from colleague.store.ids import new_id

router = APIRouter(include_in_schema=False)

TALK = "talk to agents"


@router.post("/chat/new")
async def make_session(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """A conversation of its own with an agent, or the one with an expert."""
    visitor.require_admin(TALK)
    whom, label = form.get("with", MAIN_AGENT), form.get("label", "").strip()
    try:
        key = _new_key(gateway.home, whom)
        await gateway.service.change_session(key, {"label": label} if label else {})
    except ColleagueError as error:
        return await sessions_page(gateway, visitor, error.sentence)
    return redirect(session_path(key))


def _new_key(home: Home, whom: str) -> str:
    """Raises ColleagueError when there is nobody of this name."""
    kind, _, expert = whom.partition(":")
    if kind == "expert":
        return str(SessionKey.for_expert(find_expert(home, expert).name))
    return str(SessionKey.for_chat("page", "dm", secrets.token_hex(4), agent=whom))


@router.post("/chat/session/{key}/messages")
async def say(
    key: str, request: Request, visitor: VisitorDep, sent: SentFormDep, gateway: GatewayDep
) -> Response:
    """A message with its files, or a command. What is wrong is said, and what was typed is still there."""
    visitor.require_admin(TALK)
    try:
        notice, told = await _carry_out(gateway, visitor, key, sent)
    except ColleagueError as error:
        return await _answer(request, gateway, visitor, key, Notice((error.sentence,), True), draft=sent.text)
    if "hx-request" not in request.headers and not notice.lines:
        return redirect(notice.goes_to or session_path(key))
    if "hx-request" not in request.headers and told in WHAT_BECAME and not notice.problem:
        return redirect(f"{session_path(key)}?told={told}")
    return await _answer(request, gateway, visitor, key, notice, sent=True)


async def _carry_out(gateway: Gateway, visitor: Visitor, key: str, sent: SentForm) -> tuple[Notice, str]:
    """What the person is told, and what became of the message, if there was one. Raises ColleagueError."""
    words = sent.text.replace("\r\n", "\n").strip()
    meant = parse_line(words) if words else PlainMessage(_names(sent))
    if isinstance(meant, PlainMessage):
        done = CommandAnswer(Notice(), meant.text)
    elif sent.files:
        raise UsageError("a command takes no files", hint="nothing was sent; send them with a message")
    else:
        done = await PageCommands(gateway, visitor, key).run(meant)
        if not done.message:
            return done.notice, ""
    attached = await attached_content(sent.files)
    message = MessageRequest(
        "\n\n".join([done.message, *attached.texts]),
        sender={"name": visitor.name},
        attachments=attached.pictures,
        dedupe_key=f"page:{sent.once}" if sent.once else None,
    )
    became = await replace(gateway.service, source="page").send(key, message)
    told = _became(became)
    return replace(told, lines=(*done.notice.lines, *told.lines), goes_to=done.notice.goes_to), became.queued


def _names(sent: SentForm) -> str:
    """Files without a word are named by us."""
    return f"See {', '.join(each.name for each in sent.files)}." if sent.files else ""


def _became(sent: SentMessage) -> Notice:
    if sent.duplicate:
        return Notice()
    if sent.queued in ("dropped", "denied"):
        return Notice((f"Your message was {sent.queued}: {sent.reason}",), True)
    lines = (WHAT_BECAME[sent.queued],) if sent.queued in WHAT_BECAME else ()
    return Notice((*lines, *sent.problems), bool(sent.problems), passing=not sent.problems)


@router.post("/chat/session/{key}/stop")
async def stop(key: str, request: Request, visitor: VisitorDep, _: FormDep, gateway: GatewayDep) -> Response:
    visitor.require_admin(TALK)
    stopped = await gateway.service.stop_session(key, visitor.name)
    if "hx-request" not in request.headers:
        return redirect(session_path(key))
    return await _answer(request, gateway, visitor, key, Notice((stopped_text(stopped),), passing=True))


@router.post("/chat/session/{key}/reset")
async def reset(key: str, visitor: VisitorDep, _: FormDep, gateway: GatewayDep) -> Response:
    """What was said before stays as an archive."""
    visitor.require_admin(TALK)
    await gateway.service.reset_session(key, visitor.name)
    return redirect(session_path(key))


@router.post("/chat/session/{key}/questions/{id}")
async def decide(
    key: str,
    id: str,  # noqa: A002
    request: Request,
    visitor: VisitorDep,
    form: FormDep,
    gateway: GatewayDep,
) -> Response:
    """Decides one question as the person who is signed in, by the rules of the inbox."""
    seen = await gateway.service.approval(id)
    visitor.require_decider(seen["expert"])
    try:
        said = await decide_in(gateway, id, decision_of(seen, form, visitor.name))
        problem = said.refusal.message if said.refusal is not None else ""
    except UsageError as error:
        problem = error.sentence
    if problem:
        return await _answer(request, gateway, visitor, key, Notice((problem,), True))
    if "hx-request" not in request.headers:
        return redirect(session_path(key))
    notice = Notice((f"{seen['operation']}: {decided(form['decision'])} by {visitor.name}.",), passing=True)
    return await _answer(request, gateway, visitor, key, notice)


async def _answer(
    request: Request,
    gateway: Gateway,
    visitor: Visitor,
    key: str,
    notice: Notice,
    *,
    draft: str = "",
    sent: bool = False,
) -> Response:
    """A part for a page that is open; the whole page where there is no script. `sent`: what was typed can
    go."""
    if "hx-request" not in request.headers:
        found = await read_conversation(gateway, key, visitor)
        return conversation_page(visitor, found, notice, draft=draft, agent=await agent_of(gateway, found))
    headers = {"HX-Redirect": notice.goes_to} if notice.goes_to else {}
    if sent:
        headers["HX-Trigger"] = json.dumps({"chat-sent": {"once": new_id()}})
    return page("chat_notice.html", visitor, notice=notice, headers=headers)
