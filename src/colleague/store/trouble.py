"""Why a run does not go on at the moment, stored so that every process can say it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from colleague.store.run import Hold, Run, fenced
from colleague.store.sql import select
from colleague.store.tables import is_open, runs
from colleague.store.tx import Tx

LONGEST = 1000
MOST_LISTED = 20


@dataclass(frozen=True)
class Trouble:
    """What failed, on one line; since when; and when it is tried again. Times in milliseconds."""

    text: str
    since: int
    next_try_at: int

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of(cls, run: Run) -> Trouble | None:
        return cls(**json.loads(run.trouble)) if run.trouble else None


def note_trouble(tx: Tx, hold: Hold, text: str, delay_ms: int) -> Trouble:
    """Records that a held run failed at something and tries it again. `since` is the first failure.

    Raises Fenced when somebody else holds the run."""
    before = Trouble.of(fenced(tx, hold))
    trouble = Trouble(text[:LONGEST], tx.now, tx.now + delay_ms)
    if before is not None:  # a clock that was set back makes no beginning in the future
        trouble = replace(trouble, since=min(before.since, tx.now))
    tx.update(runs, {"id": hold.run_id}, trouble=trouble.to_json())
    return trouble


def clear_trouble(tx: Tx, hold: Hold) -> None:
    """What failed has succeeded. Raises Fenced."""
    fenced(tx, hold)
    tx.update(runs, {"id": hold.run_id}, trouble=None)


def runs_in_trouble(tx: Tx, limit: int = MOST_LISTED) -> list[str]:
    """The oldest first. Unfinished runs only, so that the cost does not grow with history."""
    query = select(runs.c.id).where(is_open(), runs.c.trouble.is_not(None)).order_by(runs.c.id).limit(limit)
    return [row.id for row in tx.all(query)]
