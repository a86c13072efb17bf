"""What is to be told to people, stored with what causes it. Sending comes after the commit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from colleague.clock import STEP_MS
from colleague.errors import NotFound
from colleague.main_names import MAIN_CHANNEL
from colleague.run_document import QUESTIONS
from colleague.store.activity_lines import tell_read
from colleague.store.ids import new_id
from colleague.store.paging import Order, Page, count_rows
from colleague.store.record import columns_of, record
from colleague.store.sql import Expression, Select, and_, bindparam, or_, select, update
from colleague.store.tables import outbox, sql_literal
from colleague.store.tx import Tx


@dataclass(frozen=True)
class OutboxMessage:
    """Something to deliver: unique for its run, kind and subject, so that it is told once."""

    id: str
    run_id: str
    kind: str
    subject: str
    channel: str
    body: str
    status: str
    sends: int
    error: str | None
    created_at: int
    sent_at: int | None
    read_by: str | None


SESSIONS = "sessions"
"""The channel of what a run comes to, for the session that handed the work over."""
ANNOUNCEMENT = "announcement"
CHILD_QUESTION = "child question"
CHILD_STOP = "child stop"
"""What a run handed over is to end: it was ended itself."""
UNREAD = "unread"
"""The status of what is where it should be and nobody has read."""
CANCELLED = "cancelled"
"""The status of what a plugin held back: it is never sent, and stays to be looked at, with the reason."""
NO_READER = f"{MAIN_CHANNEL} has no reader yet"

LONGEST_SEND_MS = 120_000
LONGEST_PAUSE_MS = 3_600_000
_COLUMNS = columns_of(OutboxMessage, outbox)
TO_SEND = tuple(outbox.c.status != sql_literal(status) for status in ("sent", UNREAD, CANCELLED))
_NOT_FOR_PEOPLE = (ANNOUNCEMENT, CHILD_QUESTION, CHILD_STOP)
_NO_QUESTION = tuple(outbox.c.kind != sql_literal(kind) for kind in (*QUESTIONS, *_NOT_FOR_PEOPLE))
TO_READ = (outbox.c.status == sql_literal(UNREAD), *_NO_QUESTION)
_READABLE = or_(
    outbox.c.status == sql_literal(UNREAD),
    and_(outbox.c.status == "waiting", outbox.c.channel == MAIN_CHANNEL),
)
"""Who is quick can read what is for main before the sender has seen it."""
_DUE = or_(
    outbox.c.retry_at.is_(None), outbox.c.retry_at <= bindparam("now"), outbox.c.retry_at > bindparam("late")
)
_SENDABLE: Select = (
    select(*_COLUMNS)
    .where(*TO_SEND, _DUE)
    .order_by(outbox.c.created_at, outbox.c.id)
    .limit(bindparam("most"))
)
_FOR_PEOPLE = _SENDABLE.where(outbox.c.channel != SESSIONS)
_ANNOUNCED = _SENDABLE.where(outbox.c.channel == SESSIONS)
_STOPS = _ANNOUNCED.where(outbox.c.kind == CHILD_STOP)


def put_in_outbox(tx: Tx, run_id: str, kind: str, subject: str, channel: str, body: str) -> None:
    tx.insert_once(
        outbox,
        id=new_id(),
        run_id=run_id,
        kind=kind,
        subject=subject,
        channel=channel,
        body=body,
        status="waiting",
        sends=0,
        created_at=tx.now,
    )


def waiting_outbox(tx: Tx, limit: int = 100) -> list[OutboxMessage]:
    """What can be sent to people now: everything that was not sent, and whose next try is due."""
    return _waiting(tx, _FOR_PEOPLE, limit)


def waiting_announcements(tx: Tx, limit: int = 100) -> list[OutboxMessage]:
    """What sessions are to be told of the work that they handed over, the oldest first."""
    return _waiting(tx, _ANNOUNCED, limit)


def waiting_stops(tx: Tx, limit: int = 100) -> list[OutboxMessage]:
    """The work that is to be ended because its parent was, the oldest first."""
    return _waiting(tx, _STOPS, limit)


def _waiting(tx: Tx, query: Select, limit: int) -> list[OutboxMessage]:
    """A pause longer than the longest was begun by a clock that was ahead, and is over."""
    late = tx.now + LONGEST_PAUSE_MS + STEP_MS
    return [record(OutboxMessage, row) for row in tx.rows(query, now=tx.now, late=late, most=limit)]


def is_sent(tx: Tx, message_id: str) -> bool:
    row = tx.one(select(outbox.c.status).where(outbox.c.id == message_id))
    return row is None or row.status == "sent"


def outbox_of(tx: Tx, run_id: str) -> list[OutboxMessage]:
    return tx.find(OutboxMessage, outbox, {"run_id": run_id}, order=("created_at", "id"))


def outbox_about(tx: Tx, run_id: str, kind: str, subject: str) -> OutboxMessage | None:
    """How something was told first; None when it was not."""
    found = tx.find(OutboxMessage, outbox, {"run_id": run_id, "kind": kind, "subject": subject})
    return found[0] if found else None


def recent_outbox(tx: Tx, limit: int = 20) -> list[OutboxMessage]:
    """The newest first."""
    query = select(*_COLUMNS).order_by(outbox.c.created_at.desc(), outbox.c.id.desc()).limit(limit)
    return [record(OutboxMessage, row) for row in tx.all(query)]


def unsent_outbox(tx: Tx, limit: int) -> list[OutboxMessage]:
    """What is to be sent and was not, the newest first."""
    query = select(*_COLUMNS).where(*TO_SEND).order_by(outbox.c.created_at.desc(), outbox.c.id.desc())
    return [record(OutboxMessage, row) for row in tx.all(query.limit(limit))]


def start_sending(tx: Tx, message: OutboxMessage) -> bool:
    """Claims one send, with the body that is sent; False when someone else did. Nobody else tries it while it
    may be under way."""
    claimed = {"status": "sending", "sends": message.sends + 1, "retry_at": tx.now + LONGEST_SEND_MS}
    return tx.changed(update(outbox).where(*_as_read(message)).values(**claimed, body=message.body))


def cancel_sending(tx: Tx, message: OutboxMessage, reason: str) -> bool:
    """Ends it unsent; False when someone else has sent it, or sends it now."""
    cancelled = {"status": CANCELLED, "error": reason, "retry_at": None}
    return tx.changed(update(outbox).where(*_as_read(message)).values(**cancelled))


def _as_read(message: OutboxMessage) -> tuple[Expression, ...]:
    undone = outbox.c.status.not_in(("sent", CANCELLED))
    return outbox.c.id == message.id, outbox.c.sends == message.sends, undone


def release_messages(tx: Tx) -> None:
    """For whoever knows that every earlier sender is dead: what they were sending can be sent at once."""
    tx.update(outbox, {"status": "sending"}, status="waiting", retry_at=None)


def mark_read(tx: Tx, message_ids: Collection[str], by: str) -> int:
    """Somebody has read them, so they are delivered. The first reader counts; returns how many were new."""
    these = outbox.c.id.in_(message_ids), _READABLE
    values = {"status": "sent", "sent_at": tx.now, "read_by": by, "error": None}
    found = tx.all(update(outbox).where(*these).values(**values).returning(*_COLUMNS))
    for row in found:
        tell_read(tx, record(OutboxMessage, row), by)
    return len(found)


def mark_answered(tx: Tx, run_id: str, approval_id: str, by: str) -> None:
    """Who decides about a question has read it."""
    about = outbox.c.run_id == run_id, outbox.c.subject == approval_id, outbox.c.kind.in_(QUESTIONS)
    mark_read(tx, [row.id for row in tx.all(select(outbox.c.id).where(*about))], by)


def unread_of(tx: Tx, run_id: str) -> list[str]:
    """What a run has to tell and nobody has read: the ids, without questions."""
    query = select(outbox.c.id).where(outbox.c.run_id == run_id, _READABLE, *_NO_QUESTION)
    return [row.id for row in tx.all(query)]


def deliveries_page(tx: Tx, *, unread: bool, limit: int, after: str | None = None) -> Page[OutboxMessage]:
    """What people are told, without questions: what nobody has read, the oldest first, or all, the newest."""
    told = TO_READ if unread else _NO_QUESTION
    order = Order(outbox, (outbox.c.created_at,), descending=not unread)
    page = order.page(tx, select(*_COLUMNS).where(*told), limit=limit, after=after)
    return Page([record(OutboxMessage, row) for row in page.items], page.next_after)


def count_deliveries(tx: Tx) -> int:
    return count_rows(tx, outbox, _NO_QUESTION)


def get_delivery(tx: Tx, message_id: str) -> OutboxMessage:
    """Raises NotFound when there is none with this id."""
    found = tx.find(OutboxMessage, outbox, {"id": message_id})
    if not found:
        raise NotFound(f"there is no delivery {message_id!r}")
    return found[0]


def sent(tx: Tx, message_id: str) -> None:
    tx.execute(
        update(outbox).where(outbox.c.id == message_id).values(status="sent", sent_at=tx.now, error=None)
    )


def not_sent(tx: Tx, message_id: str, error: str, *, again_in_ms: int) -> None:
    same = (outbox.c.id == message_id, outbox.c.status != "sent")
    failed = {"status": "failed", "error": error, "retry_at": tx.now + again_in_ms}
    tx.execute(update(outbox).where(*same).values(**failed))
