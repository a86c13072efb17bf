"""What people saw in a session, in one order: messages, answers, and what arrived as an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from colleague.session_document import STOPPED
from colleague.store.record import columns_of, record
from colleague.store.session_entry import next_position
from colleague.store.sql import bindparam, delete, func, select
from colleague.store.tables import session_items
from colleague.store.tx import Tx

Role = Literal["user", "assistant", "event"]


@dataclass(frozen=True)
class NewItem:
    """Something that is to be added to a session."""

    role: Role
    text: str
    reasoning: str = ""
    source: str = ""
    """Who said it, or where it comes from; empty for the agent's own words, unless they are STOPPED."""
    attachments: str | None = None
    """JSON: references to pictures and files that came with it."""
    run_id: str | None = None
    run_position: int | None = None
    """The place of the answer among the messages of its run, which its calls share."""
    event_id: str | None = None
    hidden: int = 0
    """1 for what is kept and not shown."""


@dataclass(frozen=True)
class SessionItem(NewItem):
    """One row of `session_items`."""

    session_key: str = ""
    position: int = 0
    transcript: str = ""
    created_at: int = 0

    @property
    def is_stopped(self) -> bool:
        return self.role == "assistant" and self.source == STOPPED


_COLUMNS = columns_of(SessionItem, session_items)
_LAST_SAID = (
    select(session_items.c.created_at)
    .where(
        session_items.c.transcript == bindparam("of_transcript"),
        session_items.c.hidden == 0,
        session_items.c.role != "event",
    )
    .order_by(session_items.c.position.desc())
    .limit(1)
)
_EARLIER = (
    session_items.c.session_key == bindparam("of_session"),
    session_items.c.transcript == bindparam("of_transcript"),
    session_items.c.position < bindparam("before"),
)
_LAST_OPENED = select(func.max(session_items.c.position)).where(
    *_EARLIER, session_items.c.event_id.is_not(None)
)
_ARRIVED_SINCE = (
    select(*_COLUMNS)
    .where(
        *_EARLIER,
        session_items.c.position > bindparam("since"),
        session_items.c.role == "event",
        session_items.c.run_id.is_(None),
    )
    .order_by(session_items.c.position)
)


def add_item(tx: Tx, session_key: str, item: NewItem) -> int:
    """Adds an item to a session that exists; returns its position. Watchers are told after the commit."""
    position, transcript = next_position(tx, session_key)
    place = {"session_key": session_key, "position": position, "transcript": transcript}
    tx.insert(session_items, **vars(item), **place, created_at=tx.now)
    tx.tell_changed(session_key)
    return position


def add_items(tx: Tx, session_key: str, items: Sequence[NewItem]) -> None:
    for item in items:
        add_item(tx, session_key, item)


def items_of(
    tx: Tx, session_key: str, *, transcript: str | None = None, after: int = 0, limit: int = 200
) -> list[SessionItem]:
    """What people are shown, the oldest first, from a position on; of one transcript, or of all."""
    query = select(*_COLUMNS).where(session_items.c.session_key == session_key, session_items.c.hidden == 0)
    query = query.where(session_items.c.position > after)
    if transcript is not None:
        query = query.where(session_items.c.transcript == transcript)
    return [record(SessionItem, row) for row in tx.all(query.order_by(session_items.c.position).limit(limit))]


def latest_items(
    tx: Tx, session_key: str, transcript: str, *, limit: int, before: int | None = None
) -> list[SessionItem]:
    """The last of a transcript, or the last before a position, the oldest of them first."""
    here = session_items.c.session_key == session_key, session_items.c.transcript == transcript
    query = select(*_COLUMNS).where(*here, session_items.c.hidden == 0)
    if before is not None:
        query = query.where(session_items.c.position < before)
    rows = tx.all(query.order_by(session_items.c.position.desc()).limit(limit))
    return [record(SessionItem, row) for row in reversed(rows)]


def items_of_run(tx: Tx, run_id: str) -> list[SessionItem]:
    return tx.find(SessionItem, session_items, {"run_id": run_id}, order=("position",))


def last_said_at(tx: Tx, transcript: str) -> int | None:
    """When somebody last said something in a transcript that people see; None when nobody has."""
    rows = tx.rows(_LAST_SAID, of_transcript=transcript)
    return int(rows[0][0]) if rows else None


def reveal(tx: Tx, item: SessionItem, text: str) -> None:
    """Shows a hidden item with this text. Written anew: the search index follows inserts and deletes."""
    place = session_items.c.session_key == item.session_key, session_items.c.position == item.position
    tx.execute(delete(session_items).where(*place))
    tx.insert(session_items, **vars(replace(item, hidden=0, text=text)))
    tx.tell_changed(item.session_key)


def events_before(tx: Tx, item: SessionItem) -> list[SessionItem]:
    """What arrived by itself since the last item that opened or steered a turn, in order."""
    earlier = {"of_session": item.session_key, "of_transcript": item.transcript, "before": item.position}
    [said] = tx.rows(_LAST_OPENED, **earlier)
    rows = tx.rows(_ARRIVED_SINCE, **earlier, since=said[0] or 0)
    return [record(SessionItem, row) for row in rows]
