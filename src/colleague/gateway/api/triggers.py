"""Triggers: how they stand, and firing, pausing and resuming them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from colleague.gateway.documents import Accepted, Changed, FireAsked, TriggerDocument
from colleague.gateway.gateway import Here
from colleague.gateway.openapi import with_token
from colleague.store.report import iso
from colleague.store.schedules import TriggerState, last_slots, trigger_states
from colleague.store.tx import Tx
from colleague.triggers.schedule import next_slot
from colleague.triggers.wiring import Wired, Wiring

router = APIRouter(prefix="/api", tags=["triggers"])


@router.get("/triggers", response_model=list[TriggerDocument], responses=with_token())
async def list_triggers(here: Here) -> list[dict[str, Any]]:
    """All triggers of all experts, with what holds each of them up."""
    return await here.database.read(lambda tx: trigger_documents(tx, here.wiring))


@router.post(
    "/triggers/{expert}/{trigger}/fire",
    status_code=202,
    response_model=Accepted,
    responses=with_token(404, 409),
)
async def fire(expert: str, trigger: str, here: Here, asked: FireAsked | None = None) -> Accepted:
    """An event by hand, in the way a real one takes."""
    payload = (asked or FireAsked()).payload
    accepted = await here.operator.fire(expert, trigger, payload, source="api")
    held = accepted.run_id is None and not accepted.duplicate
    return Accepted(
        event_id=accepted.event_id, run_id=accepted.run_id, duplicate=accepted.duplicate, held=held
    )


@router.post("/triggers/{expert}/{trigger}/pause", response_model=Changed, responses=with_token(404))
async def pause(expert: str, trigger: str, here: Here) -> Changed:
    """Hold what comes from now on. `changed` is false when it was paused already."""
    return Changed(changed=await here.operator.pause(expert, trigger, "api"))


@router.post("/triggers/{expert}/{trigger}/resume", response_model=Changed, responses=with_token(404, 409))
async def resume(expert: str, trigger: str, here: Here) -> Changed:
    """Let it go on; what was held begins in the order in which it came."""
    released = await here.operator.resume(expert, trigger)
    return Changed(changed=released is not None, released=released)


def trigger_documents(tx: Tx, wiring: Wiring) -> list[dict[str, Any]]:
    states = trigger_states(tx)
    return [_document(tx, wired, states.get(wired.key)) for wired in wiring.all()]


def _document(tx: Tx, wired: Wired, state: TriggerState | None) -> dict[str, Any]:
    trigger = wired.trigger
    paused = state is not None and state.paused_at is not None
    last = last_slots(tx, *wired.key) if trigger.cron else []
    coming = next_slot(trigger.cron, tx.now) if trigger.cron and not wired.problem and not paused else None
    return {
        "expert": wired.expert.name,
        "trigger": trigger.name,
        "type": trigger.type,
        "handler": trigger.handler,
        "process": trigger.process,
        "address": f"/hooks/{wired.expert.name}/{trigger.name}" if trigger.type == "webhook" else None,
        "active": not wired.problem,
        "problem": wired.problem or None,
        "paused": paused,
        "paused_at": iso(state.paused_at) if state else None,
        "paused_by": state.paused_by if state else None,
        "next_at": iso(coming),
        "last_at": iso(last[0].slot) if last else None,
    }
