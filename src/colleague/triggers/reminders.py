"""What an agent plans for itself: planned, changed and fired here, listed and paused like every trigger."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from colleague.agent.turn_opening import REMINDER
from colleague.clock import STEP_MS, iso
from colleague.config import Settings
from colleague.duration import parse_duration
from colleague.errors import NotFound, UsageError
from colleague.experts.bindings import CatchUp
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.accept import Arrival, skip
from colleague.store.inbox import SendOutcome
from colleague.store.lanes import lock_lane
from colleague.store.reminders import (
    OWNER_PREFIX,
    Kind,
    Reminder,
    add_reminder,
    count_reminders,
    find_reminder,
    plan_next,
    reminder_made_by,
    reminders_of,
    remove_reminder,
)
from colleague.store.schedules import (
    TriggerState,
    is_settled,
    lock_trigger,
    settle_slot,
    settle_up_to,
    skip_slot,
    trigger_states,
)
from colleague.store.tables import triggers
from colleague.store.tx import Tx
from colleague.suggest import did_you_mean
from colleague.triggers.recurrence import recurrence, recurrence_of
from colleague.triggers.schedule import GRACE_MS, Due, due, next_slot

MOST_PER_AGENT = 100
LONGEST_MESSAGE = 8_000
LONGEST_NAME = 64
LATE = CatchUp(parse_duration("1d"), "once")
"""A reminder that could not come in time comes late, the newest of them."""
LATE_ONCE = CatchUp(parse_duration("3650d"), "once")
HEARTBEAT = "heartbeat"
_NO_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Plan:
    """A reminder as it is wanted."""

    agent_id: str
    session_key: str
    message: str
    kind: Kind
    schedule: str
    zone: str
    label: str = ""


def plan(tx: Tx, wanted: Plan, made_by: str) -> Reminder:
    """Adds a reminder. The same call again finds the one it made. Raises UsageError."""
    if (made := reminder_made_by(tx, made_by)) is not None:
        return made
    _check(wanted)
    times = recurrence(wanted.kind, wanted.schedule, wanted.zone, tx.now)
    coming = next_slot(times, tx.now)
    if coming is None:
        hint = "write a later time" if wanted.kind == "at" else "write a schedule that comes round"
        raise UsageError(f"{wanted.schedule!r} never comes from now on ({iso(tx.now)})", hint=hint)
    name = _name(wanted.label) or f"reminder-{made_by[-8:]}"
    lock_lane(tx, f"reminders:{wanted.agent_id}")  # one at a time, so that the limit holds
    _require_room(tx, wanted.agent_id, name)
    reminder = Reminder(
        wanted.agent_id,
        name,
        wanted.session_key,
        wanted.message,
        wanted.kind,
        wanted.schedule,
        wanted.zone,
        made_by,
        tx.now,
        coming,
    )
    add_reminder(tx, reminder)
    return reminder


def _check(wanted: Plan) -> None:
    if not wanted.message.strip():
        raise UsageError("message is empty", hint="write what is to be done then")
    if len(wanted.message) > LONGEST_MESSAGE:
        raise UsageError(
            f"message has {len(wanted.message)} characters, and at most {LONGEST_MESSAGE} are taken"
        )


def _name(label: str) -> str:
    return _NO_NAME.sub("-", label.strip()).strip("-.")[:LONGEST_NAME].casefold()


def _require_room(tx: Tx, agent_id: str, name: str) -> None:
    if name == HEARTBEAT or find_reminder(tx, agent_id, name) is not None:
        raise UsageError(
            f"there is a reminder {name!r} already", hint="remove it first, or use another label"
        )
    if count_reminders(tx, agent_id) >= MOST_PER_AGENT:
        raise UsageError(
            f"there are {MOST_PER_AGENT} reminders already", hint="remove one that is not needed"
        )


def require_reminder(tx: Tx, agent_id: str, name: str) -> Reminder:
    """By its name or its label. Raises NotFound."""
    found = find_reminder(tx, agent_id, name) or find_reminder(tx, agent_id, _name(name))
    if found is None:
        known = [each.name for each in reminders_of(tx, agent_id)]
        hint = did_you_mean(name, known) or (
            f"there are: {', '.join(known[:20])}" if known else "there are none"
        )
        raise NotFound(f"there is no reminder {name!r}", hint=hint)
    return found


def is_agent(expert: str) -> bool:
    """Whether this names the schedules of an agent and not an expert."""
    return expert.startswith(OWNER_PREFIX)


def agent_of(owner: str) -> str:
    return owner.removeprefix(OWNER_PREFIX)


def require_schedule(tx: Tx, owner: str, name: str) -> tuple[str, str]:
    """The key of a reminder, or of an agent's regular check. Raises NotFound."""
    if name == HEARTBEAT and (owner, name) in trigger_states(tx):
        return owner, name
    return require_reminder(tx, agent_of(owner), name).key


def pause_schedule(tx: Tx, key: tuple[str, str], by: str) -> bool:
    """False when it was paused already. Times that come round meanwhile are skipped."""
    if lock_trigger(tx, *key).paused_at is not None:
        return False
    tx.update(triggers, {"expert": key[0], "trigger_name": key[1]}, paused_at=tx.now, paused_by=by)
    return True


def resume_schedule(tx: Tx, key: tuple[str, str]) -> bool:
    """False when it was not paused."""
    if lock_trigger(tx, *key).paused_at is None:
        return False
    tx.update(triggers, {"expert": key[0], "trigger_name": key[1]}, paused_at=None, paused_by=None)
    return True


def remove(tx: Tx, reminder: Reminder) -> None:
    lock_trigger(tx, *reminder.key)
    remove_reminder(tx, reminder.agent_id, reminder.name)


def run_now(tx: Tx, settings: Settings, reminder: Reminder, dedupe_key: str | None = None) -> SendOutcome:
    """Says it now as well; its times stay as they are."""
    return send_message(
        tx, settings, SessionKey.parse(reminder.session_key), _message(reminder, "", dedupe_key)
    )


def settle(tx: Tx, settings: Settings, reminder: Reminder) -> int:
    """Everything of a reminder that is due, in one transaction: each time once, missed ones with a reason."""
    state = lock_trigger(tx, *reminder.key)
    found = find_reminder(tx, reminder.agent_id, reminder.name)
    if found is None or found.made_by != reminder.made_by:
        return 0
    times = recurrence_of(found)
    if state.last_slot is not None and state.last_slot > tx.now + STEP_MS:
        settle_up_to(tx, *found.key, tx.now)
        plan_next(tx, found, next_slot(times, tx.now))
        return 0
    if found.next_at > tx.now:
        return 0
    coming = due(times, LATE_ONCE if found.kind == "at" else LATE, found.next_at - 1, tx.now)
    fired = settle_due(tx, state, coming, _arrival(found), lambda slot: _say(tx, settings, found, slot))
    plan_next(tx, found, next_slot(times, tx.now))
    return fired


def settle_due(tx: Tx, state: TriggerState, coming: Due, arrival: Arrival, say: Callable[[int], str]) -> int:
    """Acts on times that have come; `say` returns the event of one. Returns how many were acted on."""
    if coming.gap is not None:
        skip_slot(tx, arrival, coming.gap.last, coming.gap.reason, coming.gap.first)
    for slot in coming.missed:
        skip_slot(tx, arrival, slot, "missed: nothing ran at that time")
    fired = 0
    for slot in coming.fire:
        if state.paused_at is not None:
            skip_slot(tx, arrival, slot, "paused")
        elif not is_settled(tx, arrival.expert, arrival.trigger, slot):
            settle_slot(tx, arrival.expert, arrival.trigger, slot, say(slot))
            fired += 1
    if coming.newest is not None:
        settle_up_to(tx, arrival.expert, arrival.trigger, coming.newest)
    return fired


def _say(tx: Tx, settings: Settings, reminder: Reminder, slot: int) -> str:
    late = f"\n\n[This was due at {iso(slot)}; nothing ran then.]" if slot < tx.now - GRACE_MS else ""
    key = SessionKey.parse(reminder.session_key)
    try:
        settings.for_agent(key.agent_id)
    except NotFound as error:
        return skip(tx, _arrival(reminder), error.message)
    return send_message(tx, settings, key, _message(reminder, late, None)).event_id


def _message(reminder: Reminder, late: str, dedupe_key: str | None) -> SessionMessage:
    return SessionMessage(
        reminder.message + late,
        source="cron",
        sender={"id": f"{REMINDER}{reminder.name}"},
        role="event",
        queue_mode="queue",
        dedupe_key=dedupe_key,
    )


def _arrival(reminder: Reminder) -> Arrival:
    owner, name = reminder.key
    return schedule_arrival(owner, name, reminder.session_key)


def schedule_arrival(owner: str, name: str, session_key: str) -> Arrival:
    """What is stored of a time that is skipped."""
    return Arrival(
        kind="agent",
        expert=owner,
        trigger=name,
        source="cron",
        payload="{}",
        session_key=session_key,
        lane=None,
    )


def reminder_documents(tx: Tx, states: dict[tuple[str, str], TriggerState]) -> list[dict[str, Any]]:
    """The reminders of all agents, in the form of every trigger."""
    return [_document(each, states.get(each.key)) for each in reminders_of(tx)]


def _document(reminder: Reminder, state: TriggerState | None) -> dict[str, Any]:
    coming = None if state is not None and state.paused_at is not None else reminder.next_at
    return schedule_document(reminder.key, state, coming) | {"process": reminder.message.strip()[:80]}


def schedule_document(
    key: tuple[str, str], state: TriggerState | None, next_at: int | None
) -> dict[str, Any]:
    paused = state is not None and state.paused_at is not None
    return {
        "expert": key[0],
        "trigger": key[1],
        "type": "cron",
        "handler": "cron",
        "process": "",
        "address": None,
        "concurrency": "serial",
        "concurrency_key": None,
        "state": "paused" if paused else "active",
        "active": True,
        "enabled": True,
        "problem": None,
        "paused": paused,
        "paused_at": iso(state.paused_at) if state else None,
        "paused_by": state.paused_by if state else None,
        "next_at": iso(next_at),
        "last_at": iso(state.last_slot) if state else None,
        "queued": 0,
        "held": 0,
        "problems": [],
    }
