"""Pausing a trigger, and letting it go on: what came meanwhile is held, in order."""

from __future__ import annotations

from colleague.home import Home
from colleague.store.accept import Arrival, Event, release_held
from colleague.store.schedules import lock_trigger, trigger_states
from colleague.store.tables import triggers
from colleague.store.tx import Tx
from colleague.triggers.intake import rebuild_arrival
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.reminders import is_agent


def pause(tx: Tx, bound_trigger: BoundTrigger, by: str) -> bool:
    """False when it was paused already."""
    expert, trigger = bound_trigger.key
    if lock_trigger(tx, expert, trigger).paused_at is not None:
        return False
    tx.update(triggers, {"expert": expert, "trigger_name": trigger}, paused_at=tx.now, paused_by=by)
    return True


def resume(tx: Tx, home: Home, bound_trigger: BoundTrigger) -> int | None:
    """Releases what was held, in the order in which it came; how many. None when it was not paused."""
    expert, trigger = bound_trigger.key
    if lock_trigger(tx, expert, trigger).paused_at is None:
        return None
    tx.update(triggers, {"expert": expert, "trigger_name": trigger}, paused_at=None, paused_by=None)

    def arrive(event: Event) -> Arrival:
        return rebuild_arrival(home, bound_trigger, event)

    return len(release_held(tx, expert, trigger, arrive))


def end_removed(tx: Tx, registry: TriggerRegistry) -> list[tuple[str, str]]:
    """Paused triggers that are no longer there are forgotten, and their held events end; which they were.

    As long as some expert cannot be read nobody knows what is there, so nothing is ended."""
    known = {bound_trigger.key for bound_trigger in registry.all()}
    states = trigger_states(tx).items()
    gone = [
        key
        for key, state in states
        if state.paused_at is not None and key not in known and not is_agent(key[0])
    ]
    if not gone or registry.problems:
        return []
    for expert, trigger in sorted(gone):
        lock_trigger(tx, expert, trigger)
        tx.update(triggers, {"expert": expert, "trigger_name": trigger}, paused_at=None, paused_by=None)
        release_held(tx, expert, trigger, lambda _: None)
    return sorted(gone)
