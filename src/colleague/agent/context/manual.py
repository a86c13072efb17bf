"""Shortening a conversation because a person asked for it."""

from __future__ import annotations

from typing import NoReturn

from colleague.agent.context.compaction import compact, planned_cut, said_of
from colleague.agent.context.fit import fitting
from colleague.agent.context.flush import flush_memory
from colleague.agent.context.summarise import NoSummary
from colleague.agent.exits import Completed, Failed
from colleague.agent.session import Session
from colleague.store.compactions import Compaction

NOTHING = "There is nothing to shorten yet."


async def compact_now(session: Session, instructions: str) -> NoReturn:
    """The whole run: raises Completed with what came of it, or Failed."""
    made = await _made(session, instructions)
    raise Completed(said_of(made) if made is not None else NOTHING)


async def _made(session: Session, instructions: str) -> Compaction | None:
    known = session.conversation.context.compaction
    if known is not None and known.run_id == session.run_id:
        return known  # stored before a crash, which came before the end of the run
    found = fitting(session)
    request = found.request("manual", instructions)
    place = planned_cut(request)
    if place is None:
        return None
    await flush_memory(session, found.view, place)
    made = await compact(session, request, place)
    if isinstance(made, NoSummary):
        text = f"the conversation could not be shortened and is as it was: {made.why} (try again later)"
        raise Failed(text, retry=False, kind="compaction_failure")
    return made
