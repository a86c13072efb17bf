"""Before each request to a model: what it is shown must fit what it can read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from colleague.agent.context.budget import SHORTEST_RESULT, SMALLEST_WINDOW, ContextBudget
from colleague.agent.context.compaction import CompactionRequest, compact, planned_cut
from colleague.agent.context.flush import flush_memory
from colleague.agent.context.prune import pruned, with_results_changed
from colleague.agent.context.result_text import closed, shortened
from colleague.agent.context.state import ContextState
from colleague.agent.context.summarise import NoSummary
from colleague.agent.context.tokens import text_tokens, tool_tokens
from colleague.agent.context.unit import MessageUnit
from colleague.agent.context.units import own_units
from colleague.agent.context.view import View, view_of
from colleague.agent.exits import Failed
from colleague.agent.models.failure import ModelFailure
from colleague.agent.session import Session
from colleague.store.compactions import Cause, Compaction, latest_compaction
from colleague.store.run import Run

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

DIVISORS = (1, 2, 5, 25, 100)
MOST_OVERFLOWS = 3
"""How often a request that the provider finds too long is shortened and made again."""
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w-])|(?<![\w.,-])\d{4,7}(?![\w-])")
LEARNED_SHARE = 0.75
"""Of what was refused: the window can hardly be larger."""


@dataclass(frozen=True)
class ContextFit:
    """Everything there is, what is shown of it, and how large that may be."""

    budget: ContextBudget
    units: Sequence[MessageUnit]
    view: View
    fixed_tokens: int

    @property
    def tokens(self) -> int:
        return self.view.tokens + self.fixed_tokens

    @property
    def fits(self) -> bool:
        return self.budget.limit is None or self.tokens <= self.budget.limit

    @property
    def is_long(self) -> bool:
        return self.budget.trigger is not None and self.tokens > self.budget.trigger

    def request(self, cause: Cause, instructions: str = "") -> CompactionRequest:
        return CompactionRequest(self.view, self.units, self.budget, cause, self.fixed_tokens, instructions)


async def load_context(session: Session, *, begun: bool) -> None:
    """Reads what was said in earlier turns, and the summary that stands for the beginning.

    `begun`: whether this run may have one of its own."""
    conversation, history = session.conversation, session.run_spec.history
    state, run = conversation.context, conversation.run
    if history is not None and conversation.is_turn:
        found = await history(run)
        state.scope, state.earlier = str(run.transcript), found.units
        state.compaction = _for_run(found.compaction, run)
        return
    if history is not None:
        state.earlier = (await history(run)).units
    state.scope = f"{run.id}/{conversation.session}"
    if begun:
        state.compaction = await conversation.read(lambda tx: latest_compaction(tx, state.scope))


def _for_run(compaction: Compaction | None, run: Run) -> Compaction | None:
    """What an earlier run had to keep word for word is no longer its business."""
    return replace(compaction, pinned="") if compaction and compaction.run_id != run.id else compaction


def fitting(session: Session) -> ContextFit:
    """Raises Failed for a model that can read too little."""
    conversation, run_spec = session.conversation, session.run_spec
    state = conversation.context
    budget = ContextBudget.of(run_spec.routes.first, run_spec.context, learned=state.learned_window)
    units = [*state.earlier, *own_units(conversation, budget.result_chars)]
    view = view_of(units, state.compaction, longest_opening=budget.keep_recent // 2)
    shown = pruned(view.units, run_spec.context.pruning, budget, datetime.now(UTC))
    return ContextFit(budget, units, replace(view, units=shown), _fixed_tokens(session, state))


def _fixed_tokens(session: Session, state: ContextState) -> int:
    if state.fixed_tokens is None:
        tools = tool_tokens(session.run_spec.toolbox.specs)
        state.fixed_tokens = _system_tokens(session) + tools
    return state.fixed_tokens


def _system_tokens(session: Session) -> int:
    return text_tokens(session.run_spec.system + session.run_spec.system_tail)


async def fitting_messages(session: Session) -> list[ModelMessage]:
    """What is sent now. Raises Failed when it cannot be made short enough."""
    found = fitting(session)
    if found.is_long and await _compacted(session, found, "auto"):
        found = fitting(session)
    return _sent(session, found)


async def messages_after_overflow(
    session: Session, failure: ModelFailure, overflows: int
) -> list[ModelMessage]:
    """What is sent after the provider has refused a request as too long. Raises Failed when nothing helps."""
    found = fitting(session)
    state = session.conversation.context
    state.learned_window = _learned_window(failure.message, found.tokens)
    if overflows > MOST_OVERFLOWS:
        raise Failed(f"{failure.message} ({failure.hint})", retry=False, kind="context_overflow")
    await _compacted(session, fitting(session), "overflow")
    return _sent(session, fitting(session))


def _learned_window(refusal: str, tokens: int) -> int:
    """Smaller than what was refused, by our own count, and no larger than a number the provider names."""
    named = [int(number.replace(",", "")) for number in _NUMBER.findall(refusal)]
    return min([round(tokens * LEARNED_SHARE), *(number for number in named if number >= SMALLEST_WINDOW)])


async def _compacted(session: Session, found: ContextFit, cause: Cause) -> bool:
    """Whether a summary stands for the beginning now."""
    rules, state = session.run_spec.context, session.conversation.context
    request = found.request(cause)
    place = planned_cut(request) if rules.compaction.enabled and not state.gave_up else None
    if place is None:
        return False
    await flush_memory(session, found.view, place)
    made = await compact(session, request, place)
    state.gave_up = isinstance(made, NoSummary)
    return not state.gave_up


def _sent(session: Session, found: ContextFit) -> list[ModelMessage]:
    shown = found if found.fits else _squeezed(session, found)
    session.conversation.context.report = json.dumps(report_of(session, shown))
    return shown.view.messages


def _squeezed(session: Session, found: ContextFit) -> ContextFit:
    """Results cut ever shorter; then, of a conversation without a summary of today, the oldest turns are not
    shown. Nothing of it is stored."""
    for divisor in DIVISORS[1:]:
        shorter = _with_results_of(found, max(SHORTEST_RESULT, found.budget.result_chars // divisor))
        if shorter.fits:
            return shorter
    fewer = _with_fewer(shorter)
    if fewer.fits:
        return fewer
    raise Failed(_too_long(session, fewer), retry=False, kind=_kind(session))


def _with_results_of(found: ContextFit, most: int) -> ContextFit:
    def cut(_: str, text: str) -> str:
        return closed(shortened(text, most)) if len(text) > most + 100 else text

    units = [with_results_changed(unit, cut) for unit in found.view.units]
    return _showing(found, units)


def _with_fewer(found: ContextFit) -> ContextFit:
    """Without the oldest turns; of the last one, without what came after its first message."""
    units = list(found.view.units)
    turns = [index for index, unit in enumerate(units) if unit.opens and index > 0]
    for start in turns:
        fewer = _showing(found, units[start:])
        if fewer.fits:
            return fewer
    start = turns[-1] if turns else 0
    first, rest = units[start : start + 1], units[start + 1 :]
    while len(rest) > 1 and not _showing(found, [*first, *rest]).fits:
        del rest[0]
    return _showing(found, [*first, *rest])


def _showing(found: ContextFit, units: Sequence[MessageUnit]) -> ContextFit:
    gone = sum(len(unit.messages) for unit in found.view.units) - sum(len(unit.messages) for unit in units)
    view = replace(found.view, units=units, left_out=gone)
    return replace(found, view=view)


def _kind(session: Session) -> str:
    return "compaction_failure" if session.conversation.context.gave_up else "context_overflow"


def _too_long(session: Session, found: ContextFit) -> str:
    model, budget = session.run_spec.routes.first.name, found.budget
    if budget.limit is not None and found.fixed_tokens > budget.limit // 2:
        return (
            f"the instructions and tools alone have about {found.fixed_tokens:,} tokens, and {model} can "
            f"read {budget.window:,} (give the agent fewer tools or shorter files, or name a model "
            "with a larger context window)"
        )
    return (
        f"the last message is longer than {model} can read: about {found.tokens:,} tokens with everything "
        f"that belongs to it, and it can read {budget.window:,}, {budget.room:,} of them kept for the answer "
        "(put the text into a file that the agent can read in parts, or name a model with a larger context "
        "window)"
    )


def report_of(session: Session, shown: ContextFit) -> dict[str, object]:
    """What the model is shown, in tokens of each part."""
    state, budget = session.conversation.context, shown.budget
    system = _system_tokens(session)
    return {
        "model": session.run_spec.routes.first.name,
        "window": budget.window,
        "room_for_answer": budget.room,
        "compacts_at": budget.trigger,
        "system": system,
        "tools": shown.fixed_tokens - system,
        "summary": shown.view.summary_tokens if state.compaction else 0,
        "messages": shown.view.tokens - (shown.view.summary_tokens if state.compaction else 0),
        "message_count": sum(len(unit.messages) for unit in shown.view.units),
        "total": shown.tokens,
        "left_out": len(shown.units) - len(shown.view.units),
    }
