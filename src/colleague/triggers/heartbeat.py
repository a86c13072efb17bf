"""The regular check of the main agent: `agents.defaults.heartbeat`, about what HEARTBEAT.md lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from colleague.agent.prompt.bootstrap_budget import lists_something, without_comments
from colleague.agent.prompt.text_file import read_text_file
from colleague.clock import STEP_MS
from colleague.config import Settings
from colleague.duration import parse_duration
from colleague.experts.bindings import CatchUp
from colleague.main_names import MAIN_AGENT
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.accept import skip
from colleague.store.inbox import count_waiting
from colleague.store.lanes import head_of, lock_lane
from colleague.store.reminders import owner_of
from colleague.store.schedules import TriggerState, lock_trigger, settle_up_to
from colleague.store.tx import Tx
from colleague.triggers.recurrence import Every
from colleague.triggers.reminders import HEARTBEAT, schedule_arrival, schedule_document, settle_due
from colleague.triggers.schedule import Due, MissedSlots, due, next_slot

KEY = owner_of(MAIN_AGENT), HEARTBEAT
FILE = "HEARTBEAT.md"
MOST_CHARS = 12_000
PROMPT = (
    "[Regular check; nobody wrote this.] Do what HEARTBEAT.md lists, and nothing from earlier turns. "
    "When nothing needs the person, answer HEARTBEAT_OK and nothing else."
)
_SKIP = CatchUp(parse_duration("1h"), "skip")


def heartbeat_times(settings: Settings) -> Every | None:
    """None when there are no regular checks."""
    seconds = settings.agents.defaults.heartbeat.every.seconds
    return Every(seconds) if seconds else None


def heartbeat_message(settings: Settings) -> SessionMessage | None:
    """What the agent is asked; None when HEARTBEAT.md is there and lists nothing."""
    heartbeat = settings.agents.defaults.heartbeat
    listed = _listed(settings.workspace / FILE)
    if listed == "":
        return None
    prompt = heartbeat.prompt or PROMPT
    text = f"{prompt}\n\n## {FILE}\n\n{listed}" if listed else prompt
    return SessionMessage(text, source=HEARTBEAT, model=heartbeat.model or "", heartbeat=True)


def _listed(file: Path) -> str | None:
    """The file without comments; empty when it has only headings then, None when there is no such file."""
    content = read_text_file(file)
    if content is None or not content.text:
        return None if content is None or content.problem else ""
    text = without_comments(content.text).strip()
    return text[:MOST_CHARS] if lists_something(text) else ""


def settle_heartbeat(tx: Tx, settings: Settings, times: Every, message: SessionMessage | None) -> int:
    """The check that is due, in one transaction with its time. Those that were missed leave one row."""
    state = lock_trigger(tx, *KEY)
    if state.last_slot is None or state.last_slot > tx.now + STEP_MS:
        settle_up_to(tx, *KEY, tx.now)
        return 0
    coming = _compact(due(times, _SKIP, state.last_slot, tx.now))
    arrival = schedule_arrival(*KEY, str(SessionKey.for_main()))
    return settle_due(tx, state, coming, arrival, lambda _: _check(tx, settings, message))


def _compact(found: Due) -> Due:
    if not found.missed:
        return found
    before = found.gap.count if found.gap else 0
    first = found.gap.first if found.gap else found.missed[0]
    exact = found.gap is None or found.gap.exact
    return Due(found.fire, (), MissedSlots(first, found.missed[-1], before + len(found.missed), exact))


def _check(tx: Tx, settings: Settings, message: SessionMessage | None) -> str:
    """Starts the turn; returns its event, which says why when there is none."""
    key = SessionKey.for_main()
    arrival = schedule_arrival(*KEY, str(key))
    if message is None:
        return skip(tx, arrival, f"{FILE} lists nothing")
    lock_lane(tx, str(key))
    if head_of(tx, str(key)) is not None or count_waiting(tx, str(key)):
        return skip(tx, arrival, "the session was at work")
    return send_message(tx, settings, key, message).event_id


def heartbeat_documents(
    settings: Settings, states: dict[tuple[str, str], TriggerState], now: int
) -> list[dict[str, Any]]:
    """The check in the form of every trigger; none when it is off."""
    times, state = heartbeat_times(settings), states.get(KEY)
    if times is None:
        return []
    paused = state is not None and state.paused_at is not None
    coming = None if paused else next_slot(times, now)
    return [schedule_document(KEY, state, coming) | {"process": FILE}]
