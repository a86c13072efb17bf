"""Shortening a conversation: a summary takes the place of its beginning.

Nothing changes before the one commit that stores the summary with the place up to which it counts, so a
crash, an error or a summary that is no use leaves everything as it was."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from colleague.agent.context.budget import ContextBudget
from colleague.agent.context.cut import cut_place, units_before
from colleague.agent.context.record import record_of
from colleague.agent.context.summarise import NoSummary, Summariser
from colleague.agent.context.summary_requests import SummaryRequests
from colleague.agent.context.unit import MessageUnit, Place, total_tokens
from colleague.agent.context.view import View, view_of
from colleague.agent.hook_points import about_run
from colleague.agent.session import Session
from colleague.hooks.events import AfterCompaction, BeforeCompaction
from colleague.store.compactions import Cause, Compaction, add_compaction, count_compaction
from colleague.store.ids import short
from colleague.store.session_items import NewItem, add_item
from colleague.store.tx import Tx

log = logging.getLogger(__name__)

ITEM_SOURCE = "compaction"
Ending = Literal["completed", "failed", "aborted"]


@dataclass(frozen=True)
class CompactionRequest:
    """Units that are shown, those in them that are to be summarised, and why."""

    view: View
    units: Sequence[MessageUnit]
    """All that are known, also those that a summary stands for."""
    budget: ContextBudget
    cause: Cause
    fixed_tokens: int = 0
    instructions: str = ""

    @property
    def tokens(self) -> int:
        return self.view.tokens + self.fixed_tokens

    def place(self, keep: int) -> Place | None:
        return cut_place(self.view.units, keep)


def planned_cut(request: CompactionRequest) -> Place | None:
    """Where to cut; None when that would gain nothing worth a request to a model."""
    budget = request.budget
    keep = budget.keep_recent
    if budget.limit is not None:
        keep = min(keep, max(0, budget.limit - request.fixed_tokens - budget.summary - budget.literals) // 2)
    if request.cause != "auto":
        keep = min(keep, request.view.tokens // 3)
    place = request.place(keep)
    if place is None:
        return None
    old = total_tokens(units_before(request.view.units, place))
    least = (budget.window or 0) // 16 if request.cause == "auto" else 1
    return place if old >= least else None


async def compact(session: Session, request: CompactionRequest, place: Place) -> Compaction | NoSummary:
    """Summarises what comes before `place`, and stores it. NoSummary when none could be had; then nothing has
    changed. Whoever watches is told of the beginning, and of exactly one end."""
    about = {"cause": request.cause, "tokens_before": request.tokens}
    session.tell("auto_compaction_start", **about)
    if session.hooks.has(BeforeCompaction.hook):
        run = about_run(session.conversation.run)
        await session.hooks.tell_and_wait(BeforeCompaction(**run, cause=request.cause, tokens=request.tokens))
    ending: Ending = "aborted"
    told: dict[str, Any] = {"text": "The conversation was not shortened: it was stopped before that."}
    try:
        made = await _made(session, request, place)
        ending = "completed"
        told = {"tokens_after": made.tokens_after, "messages": made.messages, "text": said_of(made)}
        return made
    except NoSummary as error:
        ending = "failed"
        told = {"text": f"The conversation could not be shortened: {error.why}."}
        log.warning("run %s: no summary: %s", short(session.run_id), error.why)
        return error
    finally:
        retried = ending == "completed" and request.cause == "overflow"
        session.tell("auto_compaction_end", **about, outcome=ending, will_retry=retried, **told)
        if session.hooks.has(AfterCompaction.hook):
            session.hooks.tell(_after(session, request, ending, told.get("tokens_after")))


def _after(
    session: Session, request: CompactionRequest, ending: Ending, tokens: int | None
) -> AfterCompaction:
    run = about_run(session.conversation.run)
    return AfterCompaction(
        **run, cause=request.cause, outcome=ending, tokens_before=request.tokens, tokens_after=tokens
    )


def said_of(compaction: Compaction) -> str:
    return (
        f"The conversation was shortened: a summary stands for {compaction.messages:,} messages "
        f"({compaction.tokens_before:,} tokens, now {compaction.tokens_after:,}). "
        "All of them are kept, and can be searched."
    )


async def _made(session: Session, request: CompactionRequest, place: Place) -> Compaction:
    conversation, view = session.conversation, request.view
    old = units_before(view.units, place)
    entries = record_of([*([view.opening] if view.opening else []), *old])
    before = view.compaction.summary if view.compaction else ""
    replaced = total_tokens(old) + view.summary_tokens
    asking = SummaryRequests.of(session, place)
    summary = await _summariser(session, request, asking).summary(entries, before, replaced)
    keeps = session.run_spec.keeps
    made = Compaction(
        scope=conversation.context.scope,
        number=view.compaction.number + 1 if view.compaction else 1,
        run_id=conversation.run.id,
        seq=place[0],
        position=place[1],
        summary=summary,
        pinned=await keeps(conversation.run) if keeps is not None else "",
        cause=request.cause,
        messages=sum(len(unit.messages) for unit in old),
        tokens_before=request.tokens,
        tokens_after=0,
    )
    shown = view_of(request.units, made, longest_opening=request.budget.keep_recent // 2)
    made = replace(made, tokens_after=shown.tokens + request.fixed_tokens)
    if made.tokens_after >= made.tokens_before:
        raise NoSummary("what would take its place is as long")
    await conversation.write_with_retries(lambda tx: _store(tx, session, made))
    conversation.context.compaction = made
    return made


def _summariser(session: Session, request: CompactionRequest, asking: SummaryRequests) -> Summariser:
    run_spec, rules = session.run_spec, session.run_spec.context.compaction
    model = asking.model
    learned = session.conversation.context.learned_window if model is run_spec.routes.first else None
    return Summariser(
        asking.ask,
        replace(
            ContextBudget.of(model, run_spec.context, learned=learned),
            summary=request.budget.summary,
            literals=request.budget.literals,
        ),
        tries=rules.max_retries,
        timeout_seconds=rules.timeout_seconds,
        instructions=request.instructions,
    )


def _store(tx: Tx, session: Session, made: Compaction) -> None:
    """Summary, place, count and item: one commit."""
    conversation = session.conversation
    add_compaction(tx, conversation.hold, made)
    if conversation.is_turn:
        hidden = int(session.run_spec.hidden)
        item = NewItem("event", said_of(made), source=ITEM_SOURCE, run_id=made.run_id, hidden=hidden)
        add_item(tx, conversation.run.session_key, item)
        count_compaction(tx, conversation.run.session_key)
