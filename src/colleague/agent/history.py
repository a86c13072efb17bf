"""The earlier turns of a session, as a model reads them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from colleague.agent.call_result import with_results
from colleague.agent.context.state import EarlierMessages
from colleague.agent.context.unit import AFTER_RUN, BEFORE_RUN, ELSEWHERE, MessageUnit
from colleague.agent.context.view import view_of
from colleague.agent.models.messages import from_json
from colleague.agent.render import presenter, wrapped
from colleague.agent.turn_inputs import TurnInputs, earlier_of
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.store.approvals import Approval, approvals_of
from colleague.store.compactions import Compaction, latest_compaction
from colleague.store.journal import Call, Message, read_calls, read_messages
from colleague.store.record import columns_of, record
from colleague.store.run import Run
from colleague.store.session_items import SessionItem, items_of_run
from colleague.store.sql import Table, bindparam, func, select
from colleague.store.tables import approvals, calls, messages, runs, session_items
from colleague.store.tx import Database, Tx

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

T = TypeVar("T")
MOST_SESSIONS = 64
FEW = 3
"""Turns that are read one by one."""
AT_ONCE = 500


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
    spoken: bool = True
    """False for one that only shortened the conversation."""


@dataclass(frozen=True)
class _Known:
    """Turns that were read, of those since `start`, up to `last`; `skipped` before them were not."""

    start: int = 0
    last: int = 0
    skipped: int = 0
    result_chars: int = 0
    turns: tuple[tuple[int, tuple[MessageUnit, ...]], ...] = ()

    def since(self, start: int) -> _Known:
        """Without what a summary stands for by now."""
        if start == self.start:
            return self
        kept = tuple(turn for turn in self.turns if turn[0] >= start)
        return _Known(start, self.last, 0, self.result_chars, kept)


@dataclass
class SessionHistory:
    """Keeps what was parsed: a turn reads from the store only what came after the last one it knows, and
    nothing that a summary stands for or a limit leaves out."""

    database: Database
    _known: OrderedDict[str, _Known] = field(default_factory=OrderedDict)

    async def before(
        self, run: Run, *, most: int | None = None, result_chars: int = 100_000
    ) -> EarlierMessages:
        """What was said in the transcript before this turn: all, or `most` turns at most."""
        if run.transcript is None:
            return EarlierMessages()
        transcript = run.transcript
        known = self._known.get(transcript, _Known())
        if known.last >= run.seq or known.result_chars != result_chars:
            known = _Known(result_chars=result_chars)  # a fork reads what was said before an earlier turn
        compaction, known = await self.database.read(lambda tx: _read(tx, run, transcript, known, most))
        self._keep(transcript, known)
        left_out = max(0, first_told(known.skipped + len(known.turns), most) - known.skipped)
        told = [unit for _, units in known.turns[left_out:] for unit in units]
        given = _given(TurnInputs.of(run).earlier)
        return EarlierMessages([*told, *_unit((run.seq, BEFORE_RUN), given)], compaction)

    async def elsewhere(
        self, run: Run, transcript: str, before: int, *, result_chars: int = 100_000
    ) -> Sequence[MessageUnit]:
        """What was said in another session before one of its turns, for one that goes on from there."""
        found = await self.before(
            replace(run, transcript=transcript, seq=before, inputs="{}"), result_chars=result_chars
        )
        view = view_of(found.units, found.compaction, longest_opening=2_000)
        return [
            MessageUnit.of((ELSEWHERE, index), [message], opens=index == 0)
            for index, message in enumerate(view.messages)
        ]

    def _keep(self, transcript: str, known: _Known) -> None:
        self._known[transcript] = known
        self._known.move_to_end(transcript)
        while len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)


def _read(
    tx: Tx, run: Run, transcript: str, known: _Known, most: int | None
) -> tuple[Compaction | None, _Known]:
    """What is missing. Of a transcript that nobody has read yet, only as many turns as are told."""
    compaction = latest_compaction(tx, transcript, before=run.seq, own_run=run.id)
    start = compaction.seq if compaction else 0
    known = known.since(start)
    after = max(known.last, start - 1)
    skipped = known.skipped
    if not known.turns and most is not None:
        count = _count(tx, transcript, after, run.seq)
        skipped = max(0, count - most)
    fresh = turns_between(tx, transcript, after, run.seq, skip=skipped if not known.turns else 0)
    turns = (*known.turns, *((turn.seq, _parsed(turn, known.result_chars)) for turn in fresh))
    if most is not None and len(turns) > 2 * most:
        skipped, turns = skipped + len(turns) - most, turns[-most:]
    last = fresh[-1].seq if fresh else known.last
    return compaction, _Known(start, last, skipped, known.result_chars, turns)


def _parsed(turn: StoredTurn, result_chars: int) -> tuple[MessageUnit, ...]:
    present = presenter(result_chars, turn.approvals)
    units = [
        MessageUnit.of(
            (turn.seq, each.position), with_results(each, from_json(each.body), turn.calls, present)
        )
        for each in turn.messages
    ]
    units = units or (_unit((turn.seq, 0), _only_said(turn)) if turn.spoken else [])
    closing = _closing(turn, [message for unit in units for message in unit.messages])
    found = [*_unit((turn.seq, BEFORE_RUN), _given(turn.earlier)), *units]
    return _opening((*found, *_unit((turn.seq, AFTER_RUN), closing)))


def _opening(units: Sequence[MessageUnit]) -> tuple[MessageUnit, ...]:
    """The first message of a turn begins it."""
    return tuple(
        MessageUnit(unit.place, unit.messages, unit.tokens, opens=index == 0 or unit.place[1] == 0)
        for index, unit in enumerate(units)
    )


def _unit(place: tuple[int, int], messages: Sequence[ModelMessage]) -> list[MessageUnit]:
    return [MessageUnit.of(place, messages)] if messages else []


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
    begun = [item.text for item in turn.items if item.is_stopped]
    note = "here: this answer is not whole" if begun else "before it had an answer"
    return [ModelResponse(parts=[TextPart(content="\n\n".join([*begun, f"[This turn {why} {note}.]"]))])]


_BETWEEN = (
    runs.c.transcript == bindparam("transcript"),
    runs.c.seq > bindparam("after"),
    runs.c.seq < bindparam("before"),
)
_COUNT = select(func.count()).select_from(runs).where(*_BETWEEN)
_TURNS = (
    select(runs.c.id, runs.c.seq, runs.c.outcome, runs.c.error, runs.c.inputs)
    .where(*_BETWEEN)
    .order_by(runs.c.seq)
)


class _TurnRow(NamedTuple):
    """A row of `_TURNS`."""

    id: str
    seq: int
    outcome: str | None
    error: str | None
    inputs: str


def _count(tx: Tx, transcript: str, after: int, before: int) -> int:
    [row] = tx.rows(_COUNT, transcript=transcript, after=after, before=before)
    return int(row[0])


def turns_between(tx: Tx, transcript: str, after: int, before: int, *, skip: int = 0) -> list[StoredTurn]:
    """The turns of a transcript between two places of its lane, in order, without the first ones."""
    given = {"transcript": transcript, "after": after, "before": before}
    found = tx.execute(_TURNS.offset(skip), given).all() if skip else tx.rows(_TURNS, **given)
    rows = [_TurnRow(*row) for row in found]
    return _many(tx, rows) if len(rows) > FEW else [_turn(tx, row) for row in rows]


def _many(tx: Tx, rows: Sequence[_TurnRow]) -> list[StoredTurn]:
    """The same with four questions for all of them, for a process that has just begun."""
    turns: list[StoredTurn] = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        ids = [row.id for row in some]
        said = _by_run(tx, Message, messages, ids, ("position",), session=MAIN_TRANSCRIPT)
        done = _by_run(tx, Call, calls, ids, ("position", "place"), session=MAIN_TRANSCRIPT)
        asked = _by_run(tx, Approval, approvals, ids, ("requested_at", "id"))
        seen = _by_run(tx, SessionItem, session_items, ids, ("position",))
        turns += [_turn_of(row, said[row.id], done[row.id], asked[row.id], seen[row.id]) for row in some]
    return turns


def _by_run(
    tx: Tx, kind: type[T], table: Table, ids: Sequence[str], order: tuple[str, ...], **where: str
) -> dict[str, list[T]]:
    query = select(table.c.run_id.label("of_run"), *columns_of(kind, table)).where(table.c.run_id.in_(ids))
    for name, value in where.items():
        query = query.where(table.c[name] == value)
    found: dict[str, list[T]] = defaultdict(list)
    for row in tx.all(query.order_by(*(table.c[name] for name in order))):
        found[row[0]].append(record(kind, row[1:]))
    return found


def _turn(tx: Tx, row: _TurnRow) -> StoredTurn:
    said, done = read_messages(tx, row.id, MAIN_TRANSCRIPT), read_calls(tx, row.id, MAIN_TRANSCRIPT)
    return _turn_of(row, said, done, approvals_of(tx, row.id), items_of_run(tx, row.id))


def _turn_of(
    row: _TurnRow,
    said: Sequence[Message],
    done: Sequence[Call],
    asked: Sequence[Approval],
    seen: Sequence[SessionItem],
) -> StoredTurn:
    outcome, error, spoken = row.outcome or "", row.error or "", '"compact"' not in row.inputs
    earlier = earlier_of(row.inputs)
    return StoredTurn(row.id, row.seq, outcome, error, said, done, asked, seen, earlier, spoken)
