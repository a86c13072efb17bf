"""Which event came first: dedupe keys of a trigger, each claimed by one event for a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from colleague.store.sql import bindparam, delete, insert, select, update
from colleague.store.tables import dedupe
from colleague.store.tx import Tx

Key = tuple[str, str, str]
"""Expert, trigger and key."""


class Keyed(Protocol):
    """What may be a repeat. Any known key makes it one; a repeat does not claim the `unsigned_key`."""

    @property
    def expert(self) -> str: ...
    @property
    def trigger(self) -> str: ...
    @property
    def dedupe_keys(self) -> tuple[str, ...]: ...
    @property
    def unsigned_key(self) -> str | None: ...
    @property
    def dedupe_ms(self) -> int: ...


def first_events(tx: Tx, arrivals: Sequence[Keyed], ids: Sequence[str]) -> list[str | None]:
    """For each arrival the event that it repeats; None for a new one, whose keys then belong to its id."""
    claimed = _claim_all(tx, arrivals, ids)
    new = set(ids)
    owners = {key: None if owner in new else owner for key, owner in claimed.items()}
    firsts = []
    for arrival, event_id in zip(arrivals, ids, strict=True):
        known = [owner for key in _keys(arrival) if (owner := owners[key]) is not None]
        first = min(known, default=None)  # ids are ordered by time
        for key in _keys(arrival, repeat=first is not None):
            owners[key] = owners[key] or first or event_id
        firsts.append(first)
    for key, owner in owners.items():
        if owner != claimed[key]:
            _hand_over(tx, key, owner)
    return firsts


def is_repeat(tx: Tx, arrival: Keyed) -> bool:
    """Whether it is known already. Claims nothing: the answer holds as long as the lane is locked."""
    known = [
        select(dedupe.c.event_id).where(*_is(key), dedupe.c.expires_at > tx.now) for key in _keys(arrival)
    ]
    return any(tx.one(query) is not None for query in known)


def _keys(arrival: Keyed, *, repeat: bool = False) -> list[Key]:
    """All of them, or those that a repeat claims as well."""
    unsigned = () if repeat or arrival.unsigned_key is None else (arrival.unsigned_key,)
    return [(arrival.expert, arrival.trigger, key) for key in (*arrival.dedupe_keys, *unsigned)]


def _claim_all(tx: Tx, arrivals: Sequence[Keyed], ids: Sequence[str]) -> dict[Key, str]:
    """The owner of every key, locked in sorted order: two requests that share one wait for each other."""
    wanted = sorted((key, n) for n, arrival in enumerate(arrivals) for key in _keys(arrival))
    owners: dict[Key, str] = {}
    for key, n in wanted:
        if key not in owners:
            owners[key] = _claim(tx, key, ids[n], tx.now + arrivals[n].dedupe_ms)
    return owners


def _claim(tx: Tx, key: Key, event_id: str, until: int) -> str:
    """Claims a key that is new or has expired; returns the event that has it now."""
    given: dict[str, Any] = dict(zip(("expert", "trigger", "key"), key, strict=True))
    given |= {"event": event_id, "now": tx.now, "until": until}
    if tx.execute(_CLAIM, given).first() is not None:
        return event_id
    return str(tx.execute(select(dedupe.c.event_id).where(*_is(key))).scalar_one())


_NEW = insert(dedupe).values(
    expert=bindparam("expert"),
    trigger_name=bindparam("trigger"),
    dedupe_key=bindparam("key"),
    event_id=bindparam("event"),
    expires_at=bindparam("until"),
)
_CLAIM = _NEW.on_conflict_do_update(
    index_elements=["expert", "trigger_name", "dedupe_key"],
    set_={"event_id": _NEW.excluded.event_id, "expires_at": _NEW.excluded.expires_at},
    where=dedupe.c.expires_at <= bindparam("now"),
).returning(dedupe.c.event_id)


def _hand_over(tx: Tx, key: Key, owner: str | None) -> None:
    """A key that was claimed for an event which then was a repeat."""
    if owner is None:
        tx.execute(delete(dedupe).where(*_is(key)))
    else:
        tx.execute(update(dedupe).where(*_is(key)).values(event_id=owner))


def _is(key: Key) -> tuple[Any, ...]:
    expert, trigger, text = key
    return dedupe.c.expert == expert, dedupe.c.trigger_name == trigger, dedupe.c.dedupe_key == text
