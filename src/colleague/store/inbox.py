"""Messages to a session: the first starts a turn, what comes during a turn is stored and waits for its mode.

Everything here happens with the session's lane locked, so two messages at once never start two turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from colleague.store.accept import Accepted, Arrival, accept, start_run
from colleague.store.delegations import let_go, note_child_run, note_dropped
from colleague.store.ids import new_id
from colleague.store.lanes import count_open, head_of, lock_lane, take_places
from colleague.store.record import columns_of, record
from colleague.store.run import Hold, Run, fenced, get_run, lock_run_row
from colleague.store.session_entry import QueueMode, open_session
from colleague.store.session_items import NewItem, SessionItem, add_item, items_of_run
from colleague.store.sql import bindparam, delete, func, select, update
from colleague.store.tables import events, inbox, sql_literal
from colleague.store.timers import clear_timer, set_timer
from colleague.store.tx import Tx

Queued = Literal[
    "started", "steered", "collected", "queued", "interrupted", "dropped", "denied", "reset", "stopped"
]
Mode = QueueMode | Literal["summary"]
STEERING: tuple[Mode, ...] = ("steer", "steer-backlog")
MERGED: tuple[Mode, ...] = ("collect", "steer-backlog", "summary")
"""Modes whose messages become one turn."""
DEBOUNCED: tuple[Mode, ...] = ("followup", "collect")
_ANSWERS: dict[QueueMode, Queued] = {"steer": "steered", "steer-backlog": "steered", "collect": "collected"}
LONGEST_LINE = 160
INTERRUPTED = "The turn before was ended by a new message."
SPOKEN = "A new message has come in this conversation."
TURNS = ("agent", "subagent")


@dataclass(frozen=True)
class QueueRule:
    """What happens to a message that comes during a turn."""

    mode: QueueMode = "steer"
    debounce_ms: int = 0
    cap: int = 20
    drop: Literal["old", "new", "summarize"] = "summarize"


@dataclass(frozen=True)
class IncomingMessage:
    """A message: what it does to its session, and what people see of it."""

    arrival: Arrival
    """Its lane is the session's key."""
    agent_id: str
    item: NewItem


@dataclass(frozen=True)
class SendOutcome:
    """What became of a message. `run_id` is the turn that it starts or steers; None while it waits."""

    event_id: str
    run_id: str | None
    queued: Queued
    duplicate: bool = False


@dataclass(frozen=True)
class WaitingMessage:
    """One row of `inbox`."""

    event_id: str
    session_key: str
    mode: Mode
    arrival: str
    due_at: int

    @property
    def message(self) -> IncomingMessage:
        data = json.loads(self.arrival)
        arrival = data["arrival"]
        arrival["dedupe_keys"], arrival["steps"] = tuple(arrival["dedupe_keys"]), tuple(arrival["steps"])
        return IncomingMessage(Arrival(**arrival), data["agent_id"], NewItem(**data["item"]))


def _stored(message: IncomingMessage) -> str:
    return json.dumps(asdict(message), ensure_ascii=False)


def send(tx: Tx, message: IncomingMessage, rule: QueueRule) -> SendOutcome:
    """Stores a message: a turn when the session is idle, else as its mode says. A repeat changes nothing."""
    key = message.arrival.session_key
    lock_lane(tx, key)
    entry = open_session(tx, key, message.agent_id)
    message = replace(message, arrival=replace(message.arrival, transcript=entry.id))
    head = head_of(tx, key)
    if head is None and not waiting_for(tx, key):
        return _started(tx, accept(tx, message.arrival), [message])
    accepted = accept(tx, replace(message.arrival, held=True))
    if accepted.duplicate:
        return SendOutcome(accepted.event_id, accepted.run_id, "queued", duplicate=True)
    tx.update(events, {"id": accepted.event_id}, held=0)
    running = get_run(tx, head) if head else None
    if rule.mode == "interrupt" and (running is None or _may_be_interrupted(running)):
        return _interrupt(tx, message, accepted.event_id, running)
    return _wait(tx, message, accepted.event_id, rule, running)


def _may_be_interrupted(run: Run) -> bool:
    """A turn of words may. What a person has decided is carried out first, and other runs are no turns."""
    return run.kind in TURNS and "approval" not in json.loads(run.inputs)


def _started(tx: Tx, accepted: Accepted, messages: Sequence[IncomingMessage]) -> SendOutcome:
    if accepted.run_id is not None and not accepted.duplicate:
        _add_items(tx, messages, accepted.run_id, [accepted.event_id])
    return SendOutcome(accepted.event_id, accepted.run_id, "started", accepted.duplicate)


def _add_items(tx: Tx, messages: Sequence[IncomingMessage], run_id: str, event_ids: Sequence[str]) -> None:
    for each, event_id in zip(messages, event_ids, strict=True):
        item = replace(each.item, run_id=run_id, event_id=event_id)
        add_item(tx, each.arrival.session_key, item)


def _interrupt(tx: Tx, message: IncomingMessage, event_id: str, running: Run | None) -> SendOutcome:
    """Ends the turn at work. What waited and this message are one turn, in the order in which they came;
    decisions that were to be carried out next come before it."""
    from colleague.store.cancel import cancel  # ending a run looks into the inbox

    key = message.arrival.session_key
    tx.insert(inbox, **vars(WaitingMessage(event_id, key, "collect", _stored(message), tx.now)))
    if count_open(tx, key) <= 1:
        tx.update(inbox, {"session_key": key}, mode="collect", due_at=tx.now)
    if running is not None:
        interrupted = "a new message interrupted this turn"
        cancel(tx, running.id, interrupted, awaited_only=True)  # this starts what waits
        add_item(tx, key, NewItem("event", INTERRUPTED, source="turn", run_id=running.id))
    else:
        start_waiting(tx, key)
    return SendOutcome(event_id, _run_of(tx, event_id), "interrupted" if running is not None else "started")


def _run_of(tx: Tx, event_id: str) -> str | None:
    row = tx.one(select(events.c.run_id).where(events.c.id == event_id))
    return row.run_id if row else None


def _wait(
    tx: Tx, message: IncomingMessage, event_id: str, rule: QueueRule, running: Run | None
) -> SendOutcome:
    key, mode = message.arrival.session_key, rule.mode
    if mode in STEERING and (running is None or not _takes_message(running, message)):
        mode = "followup"
    elif mode == "interrupt":
        mode = "queue"
    if not _make_room(tx, key, event_id, rule):
        return SendOutcome(event_id, None, "dropped")
    due = tx.now + (rule.debounce_ms if mode in DEBOUNCED else 0)
    row = WaitingMessage(event_id, key, mode, _stored(message), due)
    tx.insert(inbox, **vars(row))
    if running is None:
        start_waiting(tx, key)
    elif mode in STEERING:
        _end_waiting_for_children(tx, running)
    tx.tell_changed(key)
    steered = mode in STEERING and running is not None
    return SendOutcome(event_id, running.id if steered and running else None, _ANSWERS.get(mode, "queued"))


def _end_waiting_for_children(tx: Tx, running: Run) -> None:
    """Somebody speaks: a turn that waits for work it handed over goes on at once."""
    from colleague.store.claims import wake_run  # ending a run looks into the inbox

    run = lock_run_row(tx, running.id)
    if run.status == "waiting" and let_go(tx, run.id, SPOKEN):
        wake_run(tx, run)


def _takes_message(running: Run, message: IncomingMessage) -> bool:
    """A run of an expert takes none, a regular check is not to be mixed with what people say, and what comes
    from another chat gets an answer of its own there."""
    inputs = json.loads(running.inputs)
    if running.kind not in TURNS or inputs.get("heartbeat"):
        return False
    return "message" not in inputs or _place(running.inputs) == _place(message.arrival.inputs)


def _place(inputs: str) -> tuple[str, ...]:
    """The chat on a channel that a message came from; empty words for none."""
    place = json.loads(inputs).get("place", {}) if '"place"' in inputs else {}
    return tuple(place.get(name, "") for name in ("channel", "to", "thread"))


def _make_room(tx: Tx, key: str, event_id: str, rule: QueueRule) -> bool:
    """False when this message itself is dropped, which its event says."""
    rows = [row for row in waiting_for(tx, key) if row.mode != "summary"]
    if len(rows) < rule.cap:
        return True
    reason = f"{rule.cap} messages were waiting in {key} already"
    if rule.drop == "new":
        _skip(tx, event_id, reason)
        return False
    for row in rows[: len(rows) - rule.cap + 1]:
        _remove(tx, [row])
        _skip(tx, row.event_id, reason if rule.drop == "old" else f"{reason}; its first line was kept")
        if rule.drop == "summarize":
            _summarise(tx, row)
    return True


def _skip(tx: Tx, event_id: str, reason: str) -> None:
    tx.update(events, {"id": event_id}, outcome="skipped", reason=reason)
    note_dropped(tx, event_id, reason)


def _summarise(tx: Tx, row: WaitingMessage) -> None:
    """Keeps the first line of a dropped message, in a list that comes before the next turn."""
    message = row.message
    line = f"- {message.item.text.strip().partition(chr(10))[0][:LONGEST_LINE]}"
    found = [each for each in waiting_for(tx, row.session_key) if each.mode == "summary"]
    if not found:
        text = f"Messages that were dropped because too many waited, by their first lines:\n{line}"
        kept = replace(message, item=replace(message.item, text=text, source="inbox", attachments=None))
        tx.insert(inbox, **vars(replace(row, mode="summary", arrival=_stored(kept), due_at=tx.now)))
        return
    kept = found[0].message
    kept = replace(kept, item=replace(kept.item, text=f"{kept.item.text}\n{line}"))
    tx.update(inbox, {"event_id": found[0].event_id}, arrival=_stored(kept))


_COUNT_WAITING = select(func.count()).where(inbox.c.session_key == bindparam("session"))
_WAITS = select(inbox.c.event_id).where(inbox.c.event_id == bindparam("event"))
_STEERED = (
    select(inbox.c.event_id)
    .where(
        inbox.c.session_key == bindparam("session"),
        inbox.c.mode.in_([sql_literal(mode) for mode in STEERING]),
    )
    .limit(1)
)


def waiting_for(tx: Tx, key: str) -> list[WaitingMessage]:
    """What waits in a session, in the order in which it came."""
    return tx.find(WaitingMessage, inbox, {"session_key": key}, order=("event_id",))


def count_waiting(tx: Tx, key: str) -> int:
    [row] = tx.rows(_COUNT_WAITING, session=key)
    return int(row[0])


def is_waiting(tx: Tx, event_id: str) -> bool:
    return bool(tx.rows(_WAITS, event=event_id))


def start_waiting(tx: Tx, key: str) -> bool:
    """Makes the next turn of what waits, if nothing is at work and its time has come. The lane is locked."""
    if head_of(tx, key) is not None:
        return False
    rows = _next_turn(waiting_for(tx, key))
    if not rows:
        return False
    due = max(row.due_at for row in rows)
    if due > tx.now:
        set_timer(tx, "inbox", key, None, due)
        return False
    _remove(tx, rows)
    clear_timer(tx, "inbox", key)
    _start_turn(tx, [row.message for row in rows], [row.event_id for row in rows])
    return True


def _next_turn(rows: Sequence[WaitingMessage]) -> list[WaitingMessage]:
    """The first message, with those after it that its mode makes one turn of; a summary leads the way."""
    found = list(rows[:1])
    for row in rows[1:]:
        led = found[-1].mode == "summary"
        if not led and not (found[-1].mode in MERGED and row.mode in MERGED):
            break
        if _place(found[-1].message.arrival.inputs) != _place(row.message.arrival.inputs):
            break
        found.append(row)
    return found


def _remove(tx: Tx, rows: Sequence[WaitingMessage]) -> None:
    if rows:
        tx.execute(delete(inbox).where(inbox.c.event_id.in_([row.event_id for row in rows])))


def _start_turn(tx: Tx, messages: Sequence[IncomingMessage], event_ids: Sequence[str]) -> str:
    """One run for all these messages, whose lane is locked."""
    last = messages[-1].arrival
    key = last.session_key
    entry = open_session(tx, key, messages[-1].agent_id)
    text = "\n\n".join(each.item.text for each in messages)
    inputs = json.dumps(json.loads(last.inputs) | {"message": text}, ensure_ascii=False)
    [place] = take_places(tx, [key])
    run_id = new_id()
    arrival = replace(last, inputs=inputs, transcript=entry.id, held=False, max_queued=None)
    start_run(tx, arrival, place, run_id, event_ids[-1])
    these = events.c.id.in_(event_ids), events.c.outcome.is_(None)
    tx.execute(update(events).where(*these).values(run_id=run_id))
    note_child_run(tx, event_ids, run_id)
    _add_items(tx, messages, run_id, event_ids)
    return run_id


def has_steered(tx: Tx, key: str) -> bool:
    return bool(tx.rows(_STEERED, session=key))


def take_steered(tx: Tx, hold: Hold, key: str) -> list[SessionItem]:
    """Messages for the turn at work, which are part of it from this commit on. Raises Fenced."""
    run = fenced(tx, hold, lane=True)
    steering = inbox.c.session_key == key, inbox.c.mode.in_(STEERING)
    query = select(*columns_of(WaitingMessage, inbox)).where(*steering).order_by(inbox.c.event_id)
    rows = [record(WaitingMessage, row) for row in tx.all(query)]
    if not rows:
        return []
    _remove(tx, rows)
    ids = [row.event_id for row in rows]
    tx.execute(update(events).where(events.c.id.in_(ids)).values(run_id=run.id))
    _add_items(tx, [row.message for row in rows], run.id, ids)
    return [each for each in items_of_run(tx, run.id) if each.event_id in ids]


def drop_waiting(tx: Tx, key: str, reason: str) -> int:
    """A person stops the session: what waited is not run, and its events say why. The lane is locked."""
    rows = waiting_for(tx, key)
    _remove(tx, rows)
    for row in rows:
        tx.execute(
            update(events)
            .where(events.c.id == row.event_id, events.c.outcome.is_(None))
            .values(outcome="skipped", reason=reason)
        )
        note_dropped(tx, row.event_id, reason)
    return len(rows)


def drop_message(tx: Tx, event_id: str, reason: str) -> bool:
    """A message that waits is not run after all. False when it does not wait. The lane is locked."""
    rows = tx.find(WaitingMessage, inbox, {"event_id": event_id})
    _remove(tx, rows)
    for row in rows:
        _skip(tx, row.event_id, reason)
    return bool(rows)


def turn_arrival(run: Run, trigger: str, inputs: dict[str, Any]) -> Arrival:
    """Another turn of the session in which this run was one."""
    body = json.dumps(inputs, ensure_ascii=False)
    return Arrival(
        kind=run.kind,
        expert=run.expert,
        trigger=trigger,
        source=trigger,
        payload=body,
        inputs=body,
        session_key=run.session_key,
        lane=run.session_key,
        model=run.model,
        version=run.version,
        digest=run.digest,
    )
