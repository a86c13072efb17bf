"""Forks: what a run takes over of another one, and which runs were made of which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from colleague.main_names import MAIN_TRANSCRIPT
from colleague.run_document import ForkDocument
from colleague.store.compactions import Compaction
from colleague.store.ids import new_id
from colleague.store.journal import Call, Message
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.steps import StepMark
from colleague.store.tables import calls, compactions, file_reads, messages, runs, steps
from colleague.store.tx import Tx

TAKEN_OVER = 0
"""As the attempt of a message: it was said in another run, so it counts for none of this one's limits."""


@dataclass(frozen=True)
class TakenOver:
    """What was said, called and settled in a run before one of its steps began. Every call has its result."""

    messages: Sequence[Message] = ()
    calls: Sequence[Call] = ()
    steps: Sequence[StepMark] = ()
    compaction: Compaction | None = None
    """What stood for the beginning of it, when the model was last asked."""


def take_over(tx: Tx, run_id: str, taken: TakenOver, *, reads: bool) -> None:
    """Copies it into a run that nobody has worked on. `reads`: also which files its calls have shown."""
    for message in taken.messages:
        place = {"session": MAIN_TRANSCRIPT, "parent_call": None, "created_at": tx.now}
        tx.insert(messages, **vars(message) | place, run_id=run_id)
    for step in taken.steps:
        marks = {"status": step.status, "note": step.note, "marked_at": step.marked_at}
        tx.update(steps, {"run_id": run_id, "number": step.number}, **marks)
    if taken.compaction is not None:
        _copy_compaction(tx, get_run(tx, run_id), taken.compaction)
    for call in taken.calls:
        copied = _copied(call, run_id)
        flags = {"repeatable": int(call.repeatable), "is_error": int(call.is_error)}
        tx.insert(calls, **vars(copied) | flags)
        if reads:
            _copy_reads(tx, call, copied)


def _copy_compaction(tx: Tx, run: Run, compaction: Compaction) -> None:
    scope = f"{run.id}/{MAIN_TRANSCRIPT}"
    copied = replace(compaction, scope=scope, number=1, run_id=run.id, seq=run.seq)
    tx.insert(compactions, **vars(copied), created_at=tx.now)


def _copied(call: Call, run_id: str) -> Call:
    """The call as what it is here: a result. It was never sent by this run."""
    made_by = call.taken_from or call.run_id
    return replace(
        call,
        id=new_id(),
        run_id=run_id,
        session=MAIN_TRANSCRIPT,
        sends=0,
        parked_from=None,
        taken_from=made_by,
    )


def _copy_reads(tx: Tx, call: Call, copied: Call) -> None:
    names = [column.name for column in file_reads.c]
    query = select(file_reads).where(file_reads.c.run_id == call.run_id, file_reads.c.call_id == call.id)
    for row in tx.all(query):
        read = dict(zip(names, row, strict=True))
        tx.insert(file_reads, **read | {"run_id": copied.run_id, "call_id": copied.id})


def forks_of(tx: Tx, run_id: str) -> list[ForkDocument]:
    """The oldest first."""
    query = select(runs.c.id, runs.c.forked_step).where(runs.c.forked_from == run_id).order_by(runs.c.id)
    return [{"id": row.id, "step": row.forked_step} for row in tx.all(query)]
