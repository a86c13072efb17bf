"""Sessions: what was said, and saying something to the main agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter

from colleague.errors import NotFound
from colleague.experts.runs.redacted_report import trajectory_report
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import AcceptedDocument, MessageAsked, SessionDocument, SessionMessage
from colleague.main_names import MAIN_SESSION
from colleague.store.report import sessions

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

_ROLES = {"user-prompt": "user", "text": "assistant"}


@router.get("", response_model=list[SessionDocument], responses=with_token())
async def list_sessions(here: GatewayDep) -> list[dict[str, Any]]:
    """Every session, the one that was last at work first."""
    return await here.database.read(sessions)


@router.get("/{key}/messages", response_model=list[SessionMessage], responses=with_token(404))
async def messages(key: str, here: GatewayDep) -> list[dict[str, Any]]:
    """What was said in a session, in order; calls are in its runs."""
    records = await here.database.read(lambda tx: trajectory_report(tx, here.home, key))
    if not records and key != MAIN_SESSION:
        raise NotFound(f"there is no session {key!r}", hint="see them at /api/sessions")
    return [said for each in records if each["type"] == "message" for said in _message_items(each)]


@router.post("/{key}/messages", status_code=202, response_model=AcceptedDocument, responses=with_token(404))
async def say(key: str, asked: MessageAsked, here: GatewayDep) -> AcceptedDocument:
    """One turn of the main agent."""
    if key != MAIN_SESSION:
        raise NotFound(f"nothing can be said to {key!r}", hint=f"the session to talk to is {MAIN_SESSION}")
    accepted = await here.service.say(asked.text, model=asked.model)
    return AcceptedDocument(event_id=accepted.event_id, run_id=accepted.run_id)


def _message_items(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    found = record["messages"]
    for message in found if isinstance(found, list) else [found]:
        for part in message.get("parts", ()):
            role, text = _ROLES.get(part.get("part_kind")), part.get("content")
            if role and isinstance(text, str) and text:
                yield {"run_id": record["run"], "position": record["position"], "role": role, "text": text}
