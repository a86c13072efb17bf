"""The one way in: webhook, cron, channel, resolve, resume and command line all come through accept()."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select, update

from colleague.errors import ColleagueError
from colleague.store.ids import new_id
from colleague.store.lanes import insert_into, take_place
from colleague.store.tables import attempts, dedupe, events, is_open, runs
from colleague.store.tx import Tx
from colleague.store.wake import wake


class QueueFull(ColleagueError):
    """Too much is waiting for this trigger already."""


@dataclass(frozen=True)
class Arrival:
    """Something that happened, and what is to be run because of it."""

    expert: str
    trigger: str
    source: str
    payload: str
    session_key: str
    lane: str | None
    process: str = ""
    inputs: str = "{}"
    version: str = ""
    digest: str = ""
    model: str = ""
    dedupe_key: str | None = None
    dedupe_ms: int = 7 * 86_400_000
    max_queued: int | None = None
    held: bool = False
    warning: str | None = None


@dataclass(frozen=True)
class Accepted:
    """What came of it. A repeat makes no new event and has the ids of the first."""

    event_id: str
    run_id: str | None
    duplicate: bool = False


def accept(tx: Tx, arrival: Arrival) -> Accepted:
    """Dedupe, event, run and place in the lane: all of it or nothing, in the caller's transaction."""
    event_id = new_id()
    if arrival.dedupe_key is not None:
        first = _remember(tx, arrival, event_id)
        if first is not None:
            return _repeat(tx, first)
    run_id = None if arrival.held else new_id()
    tx.insert(
        events,
        id=event_id,
        expert=arrival.expert,
        trigger_name=arrival.trigger,
        source=arrival.source,
        payload=arrival.payload,
        received_at=tx.now,
        duplicates=0,
        held=int(arrival.held),
        run_id=run_id,
        warning=arrival.warning,
    )
    if run_id is not None:
        start_run(tx, arrival, run_id, event_id)
    return Accepted(event_id, run_id)


def start_run(tx: Tx, arrival: Arrival, run_id: str, event_id: str | None) -> None:
    """A run with its place in the lane; awake when it is the first there."""
    seq, first = take_place(tx, arrival.lane) if arrival.lane is not None else (0, True)
    if arrival.max_queued is not None:
        _refuse_overflow(tx, arrival)
    tx.insert(
        runs,
        id=run_id,
        event_id=event_id,
        expert=arrival.expert,
        version=arrival.version,
        digest=arrival.digest,
        process=arrival.process,
        inputs=arrival.inputs,
        session_key=arrival.session_key,
        model=arrival.model,
        lane=arrival.lane,
        seq=seq,
        status="queued",
        ready=int(first),
        attempt=1,
        dispatch=1,
        epoch=0,
        stalls=0,
        working_ms=0,
        created_at=tx.now,
    )
    tx.insert(attempts, run_id=run_id, number=1, started_at=tx.now)
    if first:
        wake(tx)


def _remember(tx: Tx, arrival: Arrival, event_id: str) -> str | None:
    """Claims the dedupe key for this event; returns the first event when the key still counts."""
    where = (arrival.expert, arrival.trigger, arrival.dedupe_key)
    statement = insert_into(tx)(dedupe).values(
        expert=where[0],
        trigger_name=where[1],
        dedupe_key=where[2],
        event_id=event_id,
        expires_at=tx.now + arrival.dedupe_ms,
    )
    renewed = statement.on_conflict_do_update(
        index_elements=["expert", "trigger_name", "dedupe_key"],
        set_={"event_id": statement.excluded.event_id, "expires_at": statement.excluded.expires_at},
        where=dedupe.c.expires_at <= tx.now,
    ).returning(dedupe.c.event_id)
    if tx.one(renewed) is not None:
        return None
    row = tx.one(
        select(dedupe.c.event_id).where(
            dedupe.c.expert == where[0], dedupe.c.trigger_name == where[1], dedupe.c.dedupe_key == where[2]
        )
    )
    return str(row[0]) if row else None


def _repeat(tx: Tx, event_id: str) -> Accepted:
    tx.execute(update(events).where(events.c.id == event_id).values(duplicates=events.c.duplicates + 1))
    row = tx.one(select(events.c.run_id).where(events.c.id == event_id))
    return Accepted(event_id, row[0] if row else None, duplicate=True)


def _refuse_overflow(tx: Tx, arrival: Arrival) -> None:
    """Raising rolls the whole request back, so a refusal leaves no row."""
    waiting = (
        select(func.count())
        .select_from(runs.join(events, runs.c.event_id == events.c.id))
        .where(runs.c.expert == arrival.expert, is_open(), events.c.trigger_name == arrival.trigger)
    )
    count = tx.execute(waiting).scalar_one()
    if arrival.max_queued is not None and count >= arrival.max_queued:
        raise QueueFull(
            f"{count} runs of {arrival.expert}/{arrival.trigger} are waiting already",
            hint="send it again later, or raise max_queued in bindings.yaml",
        )
