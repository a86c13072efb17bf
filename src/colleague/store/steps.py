"""The execution log of a run: its checklist, and what became of each item. It belongs to the framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from colleague.clock import iso
from colleague.run_document import StepDocument
from colleague.store.sql import delete
from colleague.store.tables import steps
from colleague.store.tx import Tx

StepStatus = Literal["open", "done", "skipped", "failed"]


@dataclass(frozen=True)
class StepMark:
    """One row of `steps`; `number` counts from 1."""

    number: int
    text: str
    status: StepStatus
    note: str
    attempt: int | None
    marked_at: int | None


def add_steps(tx: Tx, run_id: str, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, start=1):
        tx.insert_once(steps, run_id=run_id, number=number, text=text, status="open", note="")


def steps_of(tx: Tx, run_id: str) -> list[StepMark]:
    return tx.find(StepMark, steps, {"run_id": run_id}, order=("number",))


def step_document(step: StepMark) -> StepDocument:
    return {
        "number": step.number,
        "text": step.text,
        "status": step.status,
        "note": step.note,
        "attempt": step.attempt,
        "at": iso(step.marked_at),
    }


def open_steps(tx: Tx, run_id: str) -> list[StepMark]:
    """Those that are neither done nor skipped; one that failed before is open until it is settled."""
    return [step for step in steps_of(tx, run_id) if step.status in ("open", "failed")]


def mark_step(tx: Tx, run_id: str, number: int, status: StepStatus, note: str, attempt: int) -> bool:
    """False when the run has no such step."""
    this = {"run_id": run_id, "number": number}
    tx.tell_pages()
    return tx.update(steps, this, status=status, note=note, attempt=attempt, marked_at=tx.now)


def reopen_steps(tx: Tx, run_id: str) -> None:
    """For an attempt that starts again from the first step."""
    tx.update(steps, {"run_id": run_id}, status="open", note="", attempt=None, marked_at=None)


def renew_steps(tx: Tx, run_id: str, texts: Sequence[str], *, keep: bool) -> None:
    """The checklist as it is now; with `keep`, a step that it had before is as settled as it was."""
    before = steps_of(tx, run_id) if keep else []
    drop_steps(tx, run_id)
    add_steps(tx, run_id, texts)
    for number, text in enumerate(texts, start=1):
        known = next((step for step in before if step.text == text), None)
        if known is not None:
            before.remove(known)
            marks = {name: getattr(known, name) for name in ("status", "note", "attempt", "marked_at")}
            tx.update(steps, {"run_id": run_id, "number": number}, **marks)


def drop_steps(tx: Tx, run_id: str) -> None:
    tx.execute(delete(steps).where(steps.c.run_id == run_id))
