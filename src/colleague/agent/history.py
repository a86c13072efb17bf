"""The earlier turns of a session, as a model reads them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from colleague.agent.conversation import with_results
from colleague.agent.models.messages import from_json
from colleague.agent.render import presenter, wrapped
from colleague.agent.turn_inputs import TurnInputs, earlier_of
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.store.approvals import Approval, approvals_of
from colleague.store.journal import Call, Message, read_calls, read_messages
from colleague.store.run import Run
from colleague.store.session_items import SessionItem, items_of_run
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

MOST_SESSIONS = 64


@dataclass(frozen=True)
class StoredTurn:
    """One ended turn, as it is in the store."""

    run_id: str
    seq: int
    outcome: str
    error: str
    messages: Sequence[Message]
    calls: Sequence[Call]
    approvals: Sequence[Approval]
    items: Sequence[SessionItem]
    earlier: Sequence[tuple[str, str]] = ()
    """What the caller gave as said before this turn."""


@dataclass
class SessionHistory:
    """Keeps what was parsed: a turn reads from the store only what came after the last one it knows."""

    database: Database
    result_chars: int = 100_000
    _known: OrderedDict[str, tuple[int, list[list[ModelMessage]]]] = field(default_factory=OrderedDict)

    async def before(self, run: Run, *, most: int | None = None) -> Sequence[ModelMessage]:
        """What was said in the transcript before this turn: all, or `most` turns at most."""
        if run.transcript is None:
            return ()
        transcript = run.transcript
        last, known = self._known.get(transcript, (0, []))
        if last >= run.seq:  # a fork reads what was said before an earlier turn
            last, known = 0, []
        turns = await self.database.read(lambda tx: turns_between(tx, transcript, last, run.seq))
        if turns:
            last, known = turns[-1].seq, [*known, *(self._parsed(turn) for turn in turns)]
        self._keep(transcript, last, known)
        told = known[first_told(len(known), most) :]
        return [*(message for turn in told for message in turn), *_given(TurnInputs.of(run).earlier)]

    def _keep(self, transcript: str, last: int, turns: list[list[ModelMessage]]) -> None:
        self._known[transcript] = (last, turns)
        self._known.move_to_end(transcript)
        while len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)

    def _parsed(self, turn: StoredTurn) -> list[ModelMessage]:
        present = presenter(self.result_chars, turn.approvals)
        parsed = [from_json(message.body) for message in turn.messages]
        found = with_results(turn.messages, parsed, turn.calls, present) or _only_said(turn)
        return [*_given(turn.earlier), *found, *_closing(turn, found)]


def _given(earlier: Sequence[tuple[str, str]]) -> list[ModelMessage]:
    """A conversation that the caller keeps; roles take turns, as some providers ask for."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    joined = [(role, "\n\n".join(text for _, text in said)) for role, said in groupby(earlier, itemgetter(0))]
    return [
        ModelRequest(parts=[UserPromptPart(content=text)])
        if role == "user"
        else ModelResponse(parts=[TextPart(content=text)])
        for role, text in joined
    ]


def first_told(turns: int, most: int | None) -> int:
    """The first turn that is told. It moves in steps, not with each turn: between two steps the beginning of
    the conversation stays the same, and providers find it in their caches."""
    if most is None or turns <= most:
        return 0
    step = max(1, most // 5)
    return -(-(turns - most) // step) * step


def _only_said(turn: StoredTurn) -> list[ModelMessage]:
    """A turn that ended before its first answer: what was said to the agent is not lost."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    texts = [
        wrapped(item.text, item.source) if item.role == "event" else item.text
        for item in turn.items
        if item.event_id
    ]
    return [ModelRequest(parts=[UserPromptPart(content="\n\n".join(texts))])] if texts else []


def _closing(turn: StoredTurn, messages: list[ModelMessage]) -> list[ModelMessage]:
    """After a turn that did not end with words of the agent: some providers take only alternating roles."""
    from pydantic_ai.messages import ModelResponse, TextPart

    if not messages or (messages[-1].kind == "response" and not messages[-1].tool_calls):
        return []
    why = "was interrupted" if turn.outcome == "cancelled" else "failed"
    return [ModelResponse(parts=[TextPart(content=f"[This turn {why} before it had an answer.]")])]


def turns_between(tx: Tx, transcript: str, after: int, before: int) -> list[StoredTurn]:
    """The turns of a transcript between two places of its lane, in order."""
    query = (
        select(runs.c.id, runs.c.seq, runs.c.outcome, runs.c.error, runs.c.inputs)
        .where(runs.c.transcript == transcript, runs.c.seq > after, runs.c.seq < before)
        .order_by(runs.c.seq)
    )
    return [_turn(tx, row) for row in tx.all(query)]


def _turn(tx: Tx, row: Row[Any]) -> StoredTurn:
    return StoredTurn(
        row.id,
        row.seq,
        row.outcome or "",
        row.error or "",
        read_messages(tx, row.id, MAIN_TRANSCRIPT),
        read_calls(tx, row.id, MAIN_TRANSCRIPT),
        approvals_of(tx, row.id),
        items_of_run(tx, row.id),
        earlier_of(row.inputs),
    )
