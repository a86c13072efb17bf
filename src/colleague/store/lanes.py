"""Order: which run may start when. A run waits for every earlier unfinished one in its lane."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from colleague.store.tables import is_open, lanes, runs, word
from colleague.store.tx import Tx

_HEAD = select(runs.c.id).where(runs.c.lane == bindparam("lane"), is_open()).order_by(runs.c.seq).limit(1)


@dataclass(frozen=True)
class Lane:
    """One row of `lanes`."""

    lane: str
    next_seq: int


def insert_into(tx: Tx):  # type: ignore[no-untyped-def]  # noqa: ANN201, RUF100 - the dialects share no type
    """The dialect's INSERT, for ON CONFLICT."""
    return pg_insert if tx.locks_rows else sqlite_insert


def lock_lane(tx: Tx, lane: str) -> int:
    """Holds the lane until the commit; returns the next place. A statement of its own, before any read."""
    tx.insert_once(lanes, lane=lane, next_seq=1)
    [found] = tx.find(Lane, lanes, {"lane": lane}, lock=True)
    return found.next_seq


def lock_lanes(tx: Tx, names: Iterable[str]) -> None:
    """Holds several lanes, always in the same order."""
    for lane in sorted(set(names)):
        lock_lane(tx, lane)


def take_place(tx: Tx, lane: str) -> tuple[int, bool]:
    """A place at the end of a lane, and whether it is the first one. Locks the lane."""
    seq = lock_lane(tx, lane)
    tx.update(lanes, {"lane": lane}, next_seq=seq + 1)
    return seq, head_of(tx, lane) is None


def head_of(tx: Tx, lane: str) -> str | None:
    """The first unfinished run of a lane."""
    row = tx.execute(_HEAD, {"lane": lane}).first()
    return str(row[0]) if row else None


def free_next(tx: Tx, lane: str) -> str | None:
    """Lets the first unfinished run of a lane start; returns it when it can. The lane is locked already."""
    head = head_of(tx, lane)
    if head is None:
        return None
    freed = tx.update(runs, {"id": head, "status": "queued", "ready": 0}, ready=1)
    return head if freed else None


def with_earlier(tx: Tx, run_ids: Collection[str]) -> list[str]:
    """These runs, and every unfinished one that stands before them in their lanes."""
    one, other = runs.alias(), runs.alias()
    ahead = (other.c.lane == one.c.lane) & (other.c.seq < one.c.seq) & (other.c.status != word("done"))
    rows = tx.all(select(other.c.id).select_from(one.join(other, ahead)).where(one.c.id.in_(run_ids)))
    return list(dict.fromkeys([*run_ids, *(row.id for row in rows)]))
