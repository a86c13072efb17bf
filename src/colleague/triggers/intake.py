"""From an event outside to one `accept()`: dedupe, mapping, concurrency, in that order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from colleague.config.settings import DEDUPE_WINDOW
from colleague.duration import Duration
from colleague.experts.runs.invoke import isolated_session, process_parts
from colleague.experts.runs.mapping import dedupe_value, inputs_of, lane_of
from colleague.home import Home
from colleague.main_names import MAIN_SESSION
from colleague.packages.snapshot import take_snapshot
from colleague.store.accept import Accepted, Arrival, Event, accept_all
from colleague.store.schedules import is_paused
from colleague.store.tx import Tx
from colleague.triggers.registry import BoundTrigger
from colleague.triggers.signature import RepeatKeys

NO_KEYS = RepeatKeys()
CRON_QUEUE = 1


def arrival_of(
    home: Home,
    bound_trigger: BoundTrigger,
    payload: Any,
    *,
    source: str,
    dedupe_window: Duration,
    repeat: RepeatKeys = NO_KEYS,
) -> Arrival:
    """All that is to be stored for one event. `repeat` tells what its sender says about repeats."""
    trigger, binding, package = bound_trigger.trigger, bound_trigger.binding, bound_trigger.package
    take_snapshot(package, home.snapshots)
    inputs = inputs_of(trigger, bound_trigger.process, payload)
    lane = lane_of(bound_trigger.expert.name, trigger, payload)
    main = trigger.session == "main"
    window = (binding.dedupe_window if binding else None) or dedupe_window
    arrival = Arrival(
        expert=bound_trigger.expert.name,
        trigger=trigger.name,
        source=source,
        payload=json.dumps(payload, ensure_ascii=False),
        session_key=MAIN_SESSION if main else isolated_session(bound_trigger.expert, bound_trigger.process),
        lane=lane.name,
        inputs=json.dumps(inputs.values, ensure_ascii=False),
        version=package.manifest.version,
        digest=package.digest,
        dedupe_ms=window.milliseconds,
        max_queued=_max_queued(bound_trigger),
        warning=_warning(lane.warning, inputs.missing),
    )
    keys = _dedupe_keys(dedupe_value(trigger, payload), repeat)
    return replace(arrival, **keys, **process_parts(bound_trigger.process, package))


def _dedupe_keys(value: str | None, repeat: RepeatKeys) -> dict[str, Any]:
    """The payload's own key, else the sender's delivery id; and in any case what was signed: whoever sends a
    captured request again can change nothing of that."""
    own = value or (repeat.delivery if repeat.id_is_signed else None)
    unsigned = None if value or repeat.id_is_signed else repeat.delivery
    return {"dedupe_keys": tuple(key for key in (own, repeat.signed) if key), "unsigned_key": unsigned}


def _max_queued(bound_trigger: BoundTrigger) -> int | None:
    """Schedules do not pile up unless the operator says so."""
    given = bound_trigger.binding.max_queued if bound_trigger.binding else None
    return CRON_QUEUE if given is None and bound_trigger.trigger.type == "cron" else given


def _warning(lane: str | None, missing: list[str]) -> str | None:
    parts = [lane] if lane else []
    if missing:
        parts.append(f"the payload has no value for: {', '.join(missing)}")
    return "; ".join(parts) or None


def fire(tx: Tx, arrival: Arrival) -> Accepted:
    """The one way of an event into a run. Events of a paused trigger are held, without a place."""
    [accepted] = fire_all(tx, [arrival])
    return accepted


def fire_all(tx: Tx, arrivals: Sequence[Arrival]) -> list[Accepted]:
    """Several events that came together: all of them, or none."""
    return accept_all(tx, [_held_if_paused(tx, each) for each in arrivals])


def _held_if_paused(tx: Tx, arrival: Arrival) -> Arrival:
    paused = is_paused(tx, arrival.expert, arrival.trigger)
    return replace(arrival, held=True, max_queued=None) if paused else arrival


def rebuild_arrival(home: Home, bound_trigger: BoundTrigger, event: Event) -> Arrival:
    """The arrival of an event that was held, made anew with the package as it is now."""
    arrival = arrival_of(
        home, bound_trigger, json.loads(event.payload), source=event.source, dedupe_window=DEDUPE_WINDOW
    )
    return replace(arrival, dedupe_keys=())
