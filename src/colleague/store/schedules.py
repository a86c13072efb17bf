"""Triggers as they stand: paused or not, and which times of their schedules are settled."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.store.accept import Accepted, Arrival, accept, hold_limits, is_full, skip
from colleague.store.sql import delete, func, select, update
from colleague.store.tables import events, slots, triggers
from colleague.store.tx import Tx


@dataclass(frozen=True)
class TriggerState:
    """One row of `triggers`."""

    expert: str
    trigger_name: str
    paused_at: int | None
    paused_by: str | None
    last_slot: int | None


@dataclass(frozen=True)
class SlotRow:
    """One row of `slots`."""

    slot: int
    event_id: str


def lock_trigger(tx: Tx, expert: str, trigger: str) -> TriggerState:
    """How a trigger stands, held until the commit."""
    tx.insert_once(triggers, expert=expert, trigger_name=trigger)
    [state] = tx.find(TriggerState, triggers, {"expert": expert, "trigger_name": trigger}, lock=True)
    return state


def trigger_states(tx: Tx) -> dict[tuple[str, str], TriggerState]:
    found = tx.find(TriggerState, triggers, {})
    return {(state.expert, state.trigger_name): state for state in found}


def is_paused(tx: Tx, expert: str, trigger: str) -> bool:
    """A yes is true until the commit: what is held by a resume that ends meanwhile nobody would release."""
    this = {"expert": expert, "trigger_name": trigger}
    return _paused(tx.find(TriggerState, triggers, this)) and _paused(
        tx.find(TriggerState, triggers, this, lock=True)
    )


def _paused(found: list[TriggerState]) -> bool:
    return bool(found and found[0].paused_at is not None)


def settle_up_to(tx: Tx, expert: str, trigger: str, slot: int) -> None:
    tx.update(triggers, {"expert": expert, "trigger_name": trigger}, last_slot=slot)


NEVER_CAME = "withdrawn: the clock was ahead, and this time had not come yet"


def unsettle_after(tx: Tx, expert: str, trigger: str, moment: int) -> None:
    """Forgets what was skipped for times later than `moment`, so that they fire when they come.

    What has run stays settled: no time fires twice. A row for many missed times may stand for some that have
    come: those are looked at once more."""
    of_trigger = (slots.c.expert == expert, slots.c.trigger_name == trigger)
    later = (*of_trigger, slots.c.slot > moment)
    skipped = (events.c.outcome == "skipped", events.c.run_id.is_(None))
    in_slots = events.c.id.in_(select(slots.c.event_id).where(*later))
    tx.execute(update(events).where(in_slots, *skipped).values(reason=NEVER_CAME))
    withdrawn = select(events.c.id).where(events.c.reason == NEVER_CAME, *skipped)
    forgotten = (*later, slots.c.event_id.in_(withdrawn))
    missed_from = tx.execute(select(func.min(slots.c.missed_from)).where(*forgotten)).scalar_one()
    tx.execute(delete(slots).where(*forgotten))
    before = select(func.max(slots.c.slot)).where(*of_trigger, slots.c.slot <= moment)
    newest = tx.execute(before).scalar_one()
    settled = moment if newest is None else newest
    settle_up_to(tx, expert, trigger, settled if missed_from is None else min(settled, missed_from - 1))


def fire_slot(tx: Tx, arrival: Arrival, slot: int) -> Accepted | None:
    """The accept of one slot, and its row, together. None when it was settled before.

    A schedule that has caught up with itself is not queued without end: the slot is skipped, visibly."""
    if is_settled(tx, arrival.expert, arrival.trigger, slot):
        return None
    hold_limits(tx, [arrival])
    if is_full(tx, arrival):
        return skip_slot(tx, arrival, slot, "queue full: earlier runs of this trigger still wait")
    accepted = accept(tx, arrival)
    settle_slot(tx, arrival.expert, arrival.trigger, slot, accepted.event_id)
    return accepted


def skip_slot(
    tx: Tx, arrival: Arrival, slot: int, reason: str, missed_from: int | None = None
) -> Accepted | None:
    """A slot that does not run leaves an event that says why. It may stand for all from `missed_from` on."""
    if is_settled(tx, arrival.expert, arrival.trigger, slot):
        return None
    event_id = skip(tx, arrival, reason)
    settle_slot(tx, arrival.expert, arrival.trigger, slot, event_id, missed_from)
    return Accepted(event_id, None)


def is_settled(tx: Tx, expert: str, trigger: str, slot: int) -> bool:
    return bool(tx.find(SlotRow, slots, {"expert": expert, "trigger_name": trigger, "slot": slot}))


def settled_within(tx: Tx, expert: str, trigger: str, first: int, last: int) -> list[int]:
    """The times that have a row of their own, the newest first."""
    of_trigger = (slots.c.expert == expert, slots.c.trigger_name == trigger)
    within = (slots.c.slot >= first, slots.c.slot <= last)
    found = tx.all(select(slots.c.slot).where(*of_trigger, *within).order_by(slots.c.slot.desc()))
    return [row.slot for row in found]


def settle_slot(
    tx: Tx, expert: str, trigger: str, slot: int, event_id: str, missed_from: int | None = None
) -> None:
    """Takes down which event came of a time. Unique: no time has two."""
    row = {"expert": expert, "trigger_name": trigger, "slot": slot}
    tx.insert(slots, **row, event_id=event_id, settled_at=tx.now, missed_from=missed_from)
