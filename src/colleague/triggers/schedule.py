"""When a schedule fires, and what to do about the times missed while nothing ran. All in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Protocol

from colleague.clock import iso
from colleague.experts.bindings import CatchUp, CatchUpPolicy

GRACE_MS = 30_000
MOST_FIRED = 1000
MOST_LISTED = 100
MOST_COUNTED = 10_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_FIRED: dict[CatchUpPolicy, int] = {"once": 1, "all": MOST_FIRED, "skip": 0}


class Recurrence(Protocol):
    """When something happens: a cron expression, each so many minutes, or once."""

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The times later than `moment`, in order."""
        ...


@dataclass(frozen=True)
class MissedSlots:
    """Missed slots, too many to list, from `first` to `last`: `count` of them, or more when not `exact`."""

    first: int
    last: int
    count: int
    exact: bool

    @property
    def reason(self) -> str:
        count = f"{self.count}{'' if self.exact else ' or more'}"
        return f"missed: {count} times from {iso(self.first)} to {iso(self.last)}, nothing ran"


@dataclass(frozen=True)
class Due:
    """Every slot since the last one: to fire now, or missed, oldest first. `gap` is before all the others."""

    fire: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()
    gap: MissedSlots | None = None

    @property
    def newest(self) -> int | None:
        """The last slot that is settled by this; None when there is none."""
        newest = [*self.fire[-1:], *self.missed[-1:], *([self.gap.last] if self.gap else [])]
        return max(newest, default=None)


def slots(cron: Recurrence, after_ms: int, until_ms: int, limit: int) -> list[int]:
    """The first `limit` times it fires, later than `after_ms` and not later than `until_ms`."""
    return list(islice(takewhile(lambda slot: slot <= until_ms, _after(cron, after_ms)), limit))


def next_slot(cron: Recurrence, after_ms: int) -> int | None:
    """The first time later than `after_ms`; None when it never fires again."""
    return next(_after(cron, after_ms), None)


def due(cron: Recurrence, catch_up: CatchUp, last_slot_ms: int, now_ms: int) -> Due:
    """What became of the slots after `last_slot_ms`: the last one settled, or when the trigger was turned on.

    A slot no older than the grace is on time. For older ones the policy counts, as far back as its window
    reaches. The work is bounded, however long nothing ran."""
    late = now_ms - GRACE_MS - 1
    on_time = slots(cron, max(last_slot_ms, late), now_ms, MOST_FIRED)
    window = now_ms - catch_up.window.milliseconds - 1
    caught_up = _newest(cron, max(last_slot_ms, window), late, _FIRED[catch_up.policy])
    until = caught_up[0] - 1 if caught_up else late
    missed = _newest(cron, last_slot_ms, until, MOST_LISTED)
    gap = _gap(cron, last_slot_ms, missed[0] - 1) if missed else None
    return Due((*caught_up, *on_time), tuple(missed), gap)


def without_settled(cron: Recurrence, gap: MissedSlots, settled: Sequence[int]) -> MissedSlots | None:
    """What is left of a gap without times that have a row of their own (the newest first), as a clock that
    was ahead leaves them. None when that is all of it."""
    known, until = set(settled), gap.last
    for slot in (*settled, gap.first - 1):
        if newest := _newest(cron, slot, until, 1):
            first = next(each for each in _after(cron, gap.first - 1) if each not in known)
            return MissedSlots(first, newest[0], max(1, gap.count - len(known)), gap.exact)
        until = slot - 1
    return None


def _after(cron: Recurrence, after_ms: int) -> Iterator[int]:
    """Later than `after_ms` and each later than the one before, also where a clock shows an hour twice."""
    last = after_ms
    try:
        for moment in cron.after(_EPOCH + timedelta(milliseconds=after_ms)):
            slot = (moment.astimezone(UTC) - _EPOCH) // _MILLISECOND
            if slot > last:
                last = slot
                yield slot
    except OverflowError:
        return


def _newest(cron: Recurrence, after_ms: int, until_ms: int, count: int) -> list[int]:
    """The last `count` slots, found by halving: never by walking through all of them."""
    found = slots(cron, after_ms, until_ms, count + 1)
    if len(found) <= count:
        return found
    enough, few = after_ms, until_ms
    while few - enough > 1:
        middle = (enough + few) // 2
        if len(slots(cron, middle, until_ms, count)) == count:
            enough = middle
        else:
            few = middle
    return slots(cron, enough, until_ms, count)


def _gap(cron: Recurrence, after_ms: int, until_ms: int) -> MissedSlots | None:
    counted = slots(cron, after_ms, until_ms, MOST_COUNTED + 1)
    if not counted:
        return None
    [last] = _newest(cron, after_ms, until_ms, 1)
    count = min(len(counted), MOST_COUNTED)
    return MissedSlots(counted[0], last, count, exact=len(counted) == count)
