"""Answers that models are giving in this process: in no commit yet, and people have seen how they begin."""

from __future__ import annotations

from dataclasses import dataclass, field

from colleague.session_document import STOPPED
from colleague.store.run import Hold, Run
from colleague.store.session_items import NewItem, add_item
from colleague.store.sql import select
from colleague.store.tables import messages
from colleague.store.tx import Tx


@dataclass(frozen=True)
class UnfinishedAnswer:
    """What people were told of an answer so far, and the place that it gets in the transcript of its run."""

    session: str
    position: int
    pieces: list[str] = field(default_factory=list)

    def add(self, text: str, *, void: bool = False) -> None:
        """`void`: what was told before it does not count."""
        if void:
            self.pieces.clear()
        self.pieces.append(text)


def keep_unfinished(tx: Tx, run: Run) -> None:
    """The answer that a locked run was giving when it was stopped becomes an item of its session. Of one that
    is given in another process nothing is known here, and a worker that lost the run has no say."""
    answer = tx.unfinished.get(Hold(run.id, run.epoch, run.lane))
    text = "".join(answer.pieces).strip() if answer is not None else ""
    if answer is not None and text and not _is_stored(tx, run, answer):
        add_item(tx, run.session_key, NewItem("assistant", text, source=STOPPED, run_id=run.id))


def _is_stored(tx: Tx, run: Run, answer: UnfinishedAnswer) -> bool:
    """Whether its commit came first, as while its calls are made."""
    place = messages.c.session == answer.session, messages.c.position == answer.position
    return tx.one(select(messages.c.position).where(messages.c.run_id == run.id, *place)) is not None
