"""The triggers of a home as documents. Looking never changes a schedule."""

from __future__ import annotations

from typing import Any

from colleague.clock import iso
from colleague.store.accept import queued_runs
from colleague.store.schedules import TriggerState, trigger_states
from colleague.store.sql import func, select
from colleague.store.tables import events
from colleague.store.tx import Tx
from colleague.triggers.problems import FindProblems
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.schedule import next_slot


def trigger_documents(
    tx: Tx, registry: TriggerRegistry, find_problems: FindProblems, expert: str = ""
) -> list[dict[str, Any]]:
    states = trigger_states(tx)
    wanted = [
        bound_trigger for bound_trigger in registry.all() if not expert or bound_trigger.expert.name == expert
    ]
    return [
        _document(tx, bound_trigger, states.get(bound_trigger.key))
        | {"problems": [each.as_dict() for each in find_problems(bound_trigger)]}
        for bound_trigger in wanted
    ]


def _document(tx: Tx, bound_trigger: BoundTrigger, state: TriggerState | None) -> dict[str, Any]:
    trigger, (expert, name) = bound_trigger.trigger, bound_trigger.key
    paused = state is not None and state.paused_at is not None
    coming = (
        next_slot(trigger.cron, tx.now) if trigger.cron and not bound_trigger.problem and not paused else None
    )
    return {
        "expert": expert,
        "trigger": name,
        "type": trigger.type,
        "handler": trigger.handler,
        "process": trigger.process,
        "address": f"/hooks/{expert}/{name}" if trigger.type == "webhook" else None,
        "concurrency": trigger.concurrency.mode,
        "concurrency_key": trigger.concurrency.key.text if trigger.concurrency.key else None,
        "state": "paused" if paused else "inactive" if bound_trigger.problem else "active",
        "active": not bound_trigger.problem,
        "enabled": bound_trigger.expert.record.enabled,
        "problem": bound_trigger.problem or None,
        "paused": paused,
        "paused_at": iso(state.paused_at) if state else None,
        "paused_by": state.paused_by if state else None,
        "next_at": iso(coming),
        "last_at": iso(_last_event(tx, expert, name)),
        "queued": queued_runs(tx, expert, name),
        "held": _held(tx, expert, name),
    }


def _last_event(tx: Tx, expert: str, trigger: str) -> int | None:
    query = select(events.c.received_at).where(events.c.expert == expert, events.c.trigger_name == trigger)
    row = tx.one(query.order_by(events.c.id.desc()).limit(1))
    return row[0] if row else None


def _held(tx: Tx, expert: str, trigger: str) -> int:
    query = select(func.count()).select_from(events)
    held = query.where(events.c.expert == expert, events.c.trigger_name == trigger, events.c.held == 1)
    return int(tx.execute(held).scalar_one())
