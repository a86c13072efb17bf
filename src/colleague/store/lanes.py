"""Order: which run may start when. A run waits for every earlier unfinished one in its lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from colleague.store.sql import bindparam, func, insert, select
from colleague.store.tables import is_open, lanes, runs, sql_literal
from colleague.store.tx import Tx

_LOCK = select(lanes.c.lane).where(lanes.c.lane == bindparam("lane")).with_for_update()
_HEAD = select(runs.c.id).where(runs.c.lane == bindparam("lane"), is_open()).order_by(runs.c.seq).limit(1)

_TAKE = (
    insert(lanes)
    .values(lane=bindparam("lane"), next_seq=bindparam("first"))
    .on_conflict_do_update(index_elements=["lane"], set_={"next_seq": lanes.c.next_seq + bindparam("count")})
    .returning(lanes.c.next_seq)
)


def lock_lane(tx: Tx, lane: str) -> None:
    """Holds the lane until the commit. A statement of its own, before any read."""
    if tx.locks_rows and tx.execute(_LOCK, {"lane": lane}).first() is None:
        _take_places(tx, lane, 0)


def take_places(tx: Tx, wanted: Sequence[str | None]) -> list[int]:
    """A place at the end of each lane, in this order; 0 where no lane is wanted.

    The lanes are held until the commit, and always locked in the same order. A place that is not used after
    all is left out: nobody waits for it."""
    counts = Counter(lane for lane in wanted if lane is not None)
    following = {lane: _take_places(tx, lane, counts[lane]) for lane in sorted(counts)}
    places = []
    for lane in wanted:
        places.append(0 if lane is None else following[lane])
        if lane is not None:
            following[lane] += 1
    return places


def _take_places(tx: Tx, lane: str, count: int) -> int:
    """The first of so many places. One statement, which locks the lane and reads it as it is then."""
    given = {"lane": lane, "first": 1 + count, "count": count}
    [row] = tx.rows(_TAKE, **given)
    return int(row[0]) - count


def head_of(tx: Tx, lane: str) -> str | None:
    """The first unfinished run of a lane."""
    rows = tx.rows(_HEAD, lane=lane)
    return str(rows[0][0]) if rows else None


def count_open(tx: Tx, lane: str) -> int:
    """The unfinished runs of a lane."""
    query = select(func.count()).select_from(runs).where(runs.c.lane == lane, is_open())
    return int(tx.execute(query).scalar_one())


@dataclass(frozen=True)
class OpenLane:
    """The unfinished runs of one lane; without a lane they wait for nobody."""

    lane: str | None
    open: int
    first: str
    first_status: str


def open_lanes(tx: Tx, expert: str, limit: int = 50) -> list[OpenLane]:
    """Where an expert has unfinished runs, the longest lane first."""
    count = func.count()
    query = select(runs.c.lane, count).where(runs.c.expert == expert, is_open()).group_by(runs.c.lane)
    rows: Any = tx.all(query.order_by(count.desc()).limit(limit))
    return [OpenLane(row[0], int(row[1]), *_first(tx, expert, row[0])) for row in rows]


def _first(tx: Tx, expert: str, lane: str | None) -> tuple[str, str]:
    query = select(runs.c.id, runs.c.status).where(runs.c.expert == expert, runs.c.lane == lane, is_open())
    row: Any = tx.all(query.order_by(runs.c.seq, runs.c.id).limit(1))[0]
    return row[0], row[1]


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
    ahead = (other.c.lane == one.c.lane) & (other.c.seq < one.c.seq) & (other.c.status != sql_literal("done"))
    rows = tx.all(select(other.c.id).select_from(one.join(other, ahead)).where(one.c.id.in_(run_ids)))
    return list(dict.fromkeys([*run_ids, *(row.id for row in rows)]))
