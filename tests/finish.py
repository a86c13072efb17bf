"""Ending a run the way the runtime does, without an agent."""

from __future__ import annotations

from colleague.store.claims import end_run
from colleague.store.run import Hold, Outcome, fenced
from colleague.store.tx import Tx


def finish(tx: Tx, hold: Hold, outcome: Outcome, **result: str | None) -> None:
    """Frees the next run of the lane in the same commit."""
    end_run(tx, fenced(tx, hold, lane=True), outcome, **result)
