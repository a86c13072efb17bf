"""The one way in: webhook, cron, channel, resolve, resume and command line all come through accept()."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.errors import ColleagueError
from colleague.run_document import DryRun
from colleague.store.activity_lines import tell_accepted
from colleague.store.dedupe import first_events
from colleague.store.ids import new_id
from colleague.store.lanes import head_of, lock_lane, take_places
from colleague.store.notify import wake
from colleague.store.record import columns_of, record
from colleague.store.run import RunKind, stored_dry_run
from colleague.store.sla import Sla
from colleague.store.sql import func, literal_column, select, update
from colleague.store.steps import add_steps
from colleague.store.tables import attempts, events, is_open, runs, sql_literal
from colleague.store.timers import set_timer
from colleague.store.tx import Tx


class QueueFull(ColleagueError):
    """Too much is waiting for this trigger already."""

    code = "queue-full"


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
    dry_run: DryRun = False
    sla: Sla | None = None
    steps: tuple[str, ...] = ()
    dedupe_keys: tuple[str, ...] = ()
    """Any that is known makes this a repeat."""
    unsigned_key: str | None = None
    """One more, which nobody has signed. A repeat does not claim it: else an old request, sent again with the
    id of a delivery that is to come, would have that one taken for a repeat."""
    dedupe_ms: int = 7 * 86_400_000
    max_queued: int | None = None
    held: bool = False
    warning: str | None = None
    kind: RunKind = "expert"
    transcript: str | None = None
    """Of the session in which the run is a turn."""
    parent_run: str | None = None
    forked_from: str | None = None
    forked_step: int | None = None


@dataclass(frozen=True)
class Event:
    """One row of `events`."""

    id: str
    expert: str
    trigger_name: str
    source: str
    payload: str
    received_at: int
    duplicates: int
    held: bool
    run_id: str | None
    outcome: str | None
    reason: str | None
    warning: str | None


@dataclass(frozen=True)
class Accepted:
    """What came of it. A repeat makes no new event and has the ids of the first."""

    event_id: str
    run_id: str | None
    duplicate: bool = False


def accept(tx: Tx, arrival: Arrival) -> Accepted:
    """Dedupe, event, run and place in the lane: all of it or nothing, in the caller's transaction."""
    [accepted] = accept_all(tx, [arrival])
    return accepted


def accept_all(tx: Tx, arrivals: Sequence[Arrival]) -> list[Accepted]:
    """Several events in one transaction, in their order. Limits, lanes and dedupe keys are locked one kind
    after the other and in sorted order, so that two requests that share some of them wait for each other
    instead of meeting head on."""
    hold_limits(tx, arrivals)
    # before there is an id, so that ids and places have one order
    places = take_places(tx, [None if each.held else each.lane for each in arrivals])
    ids = [new_id() for _ in arrivals]
    firsts = first_events(tx, arrivals, ids)
    found = [_accept(tx, *each) for each in zip(arrivals, places, ids, firsts, strict=True)]
    for arrival, accepted in zip(arrivals, found, strict=True):
        tell_accepted(tx, arrival, accepted)
    return found


def _accept(tx: Tx, arrival: Arrival, place: int, event_id: str, first: str | None) -> Accepted:
    if first is not None:
        return _repeat(tx, first)
    run_id = None if arrival.held else new_id()
    held = {"held": int(arrival.held), "run_id": run_id, "warning": arrival.warning}
    tx.insert(events, **_event(tx, arrival, event_id) | held)
    if run_id is not None:
        start_run(tx, arrival, place, run_id, event_id)
    return Accepted(event_id, run_id)


def _event(tx: Tx, arrival: Arrival, event_id: str) -> dict[str, Any]:
    return {
        "id": event_id,
        "expert": arrival.expert,
        "trigger_name": arrival.trigger,
        "source": arrival.source,
        "payload": arrival.payload,
        "received_at": tx.now,
        "duplicates": 0,
        "held": 0,
    }


def start_run(
    tx: Tx, arrival: Arrival, place: int, run_id: str, event_id: str | None, *, received_at: int | None = None
) -> None:
    """A run in its place in the lane; awake when it is the first there. Its SLA counts from the event."""
    first = arrival.lane is None or head_of(tx, arrival.lane) is None
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
        seq=place,
        status="queued",
        ready=int(first),
        attempt=1,
        dispatch=1,
        epoch=0,
        stalls=0,
        working_ms=0,
        created_at=tx.now,
        dry_run=stored_dry_run(arrival.dry_run),
        sla=arrival.sla.to_json() if arrival.sla else None,
        kind=arrival.kind,
        transcript=arrival.transcript,
        parent_run=arrival.parent_run,
        forked_from=arrival.forked_from,
        forked_step=arrival.forked_step,
    )
    if arrival.sla:
        set_timer(tx, "sla", run_id, run_id, (received_at or tx.now) + arrival.sla.limit_ms)
    add_steps(tx, run_id, arrival.steps)
    tx.insert(attempts, run_id=run_id, number=1, started_at=tx.now)
    tx.tell_pages()
    if first:
        wake(tx)


def _repeat(tx: Tx, event_id: str) -> Accepted:
    tx.execute(update(events).where(events.c.id == event_id).values(duplicates=events.c.duplicates + 1))
    row = tx.one(select(events.c.run_id).where(events.c.id == event_id))
    return Accepted(event_id, row[0] if row else None, duplicate=True)


def hold_limits(tx: Tx, arrivals: Sequence[Arrival]) -> None:
    """Until the commit nobody else adds to what waits of these triggers, where that is limited."""
    limited = {f"limit/{each.expert}/{each.trigger}" for each in arrivals if each.max_queued is not None}
    for each in sorted(limited):
        lock_lane(tx, each)


def is_full(tx: Tx, arrival: Arrival) -> bool:
    """Whether as many runs of this trigger wait to begin as may."""
    return (
        arrival.max_queued is not None
        and queued_runs(tx, arrival.expert, arrival.trigger) >= arrival.max_queued
    )


def queued_runs(tx: Tx, expert: str, trigger: str) -> int:
    """Runs of a trigger that have not begun. What is under way, or waits for a person, is not queued."""
    waiting = (
        select(func.count())
        .select_from(runs.join(events, runs.c.event_id == events.c.id))
        .where(
            runs.c.expert == expert,
            is_open(),
            runs.c.status == sql_literal("queued"),
            events.c.trigger_name == trigger,
        )
    )
    return int(tx.execute(waiting).scalar_one())


def _refuse_overflow(tx: Tx, arrival: Arrival) -> None:
    """Raising rolls the whole request back, so a refusal leaves no row."""
    if is_full(tx, arrival):
        raise QueueFull(
            f"{arrival.max_queued} runs of {arrival.expert}/{arrival.trigger} are waiting already",
            hint="send it again later, or raise max_queued in bindings.yaml",
        )


def skip(tx: Tx, arrival: Arrival, reason: str) -> str:
    """An event that is known and not run, with the reason; returns its id."""
    event_id = new_id()
    tx.insert(events, **_event(tx, arrival, event_id), outcome="skipped", reason=reason)
    return event_id


def skip_once(tx: Tx, arrival: Arrival, reason: str) -> str:
    """The same for what may be sent again: a repeat is known by its keys, and has the id of the first."""
    accepted = accept(tx, replace(arrival, held=True))
    if not accepted.duplicate:
        tx.update(events, {"id": accepted.event_id}, held=0, outcome="skipped", reason=reason)
    return accepted.event_id


def release_held(tx: Tx, expert: str, trigger: str, arrive: Callable[[Event], Arrival | None]) -> list[str]:
    """Gives the held events of a trigger their runs and places, in the order in which they came.

    `arrive` makes an event's arrival anew; None when it cannot be run any more."""
    released = []
    query = select(*columns_of(Event, events)).where(
        events.c.expert == expert, events.c.trigger_name == trigger, events.c.held == literal_column("1")
    )
    held = [record(Event, row) for row in tx.all(query.order_by(events.c.id))]
    arrivals = [arrive(event) for event in held]
    places = take_places(tx, [each.lane if each is not None else None for each in arrivals])
    for event, arrival, place in zip(held, arrivals, places, strict=True):
        if arrival is None:
            gone = {"outcome": "skipped", "reason": "the trigger was removed"}
            tx.update(events, {"id": event.id}, held=0, **gone)
            continue
        run_id = new_id()
        tx.update(events, {"id": event.id}, held=0, run_id=run_id)
        unlimited = replace(arrival, max_queued=None)
        start_run(tx, unlimited, place, run_id, event.id, received_at=event.received_at)
        released.append(run_id)
    return released
