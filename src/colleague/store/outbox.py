"""What is to be told to people, stored with what causes it. Sending comes after the commit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import or_, select, update

from colleague.clock import STEP_MS
from colleague.store.ids import new_id
from colleague.store.record import columns_of, record
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


LONGEST_SEND_MS = 120_000
LONGEST_PAUSE_MS = 3_600_000
_COLUMNS = columns_of(OutboxMessage, outbox)


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


def waiting_parcels(tx: Tx, limit: int = 100) -> list[OutboxMessage]:
    """What can be sent now: everything that was not sent, and whose next try is due.

    A pause longer than the longest was begun by a clock that was ahead, and is over."""
    late = outbox.c.retry_at > tx.now + LONGEST_PAUSE_MS + STEP_MS
    due = or_(outbox.c.retry_at.is_(None), outbox.c.retry_at <= tx.now, late)
    query = select(*_COLUMNS).where(outbox.c.status != sql_literal("sent"), due)
    return [record(OutboxMessage, row) for row in tx.all(query.order_by(outbox.c.created_at).limit(limit))]


def parcels_of(tx: Tx, run_id: str) -> list[OutboxMessage]:
    return tx.find(OutboxMessage, outbox, {"run_id": run_id}, order=("created_at", "id"))


def parcel_about(tx: Tx, run_id: str, kind: str, subject: str) -> OutboxMessage | None:
    """How something was told first; None when it was not."""
    found = tx.find(OutboxMessage, outbox, {"run_id": run_id, "kind": kind, "subject": subject})
    return found[0] if found else None


def recent_parcels(tx: Tx, limit: int = 20) -> list[OutboxMessage]:
    """The newest first."""
    query = select(*_COLUMNS).order_by(outbox.c.created_at.desc(), outbox.c.id.desc()).limit(limit)
    return [record(OutboxMessage, row) for row in tx.all(query)]


def start_sending(tx: Tx, parcel: OutboxMessage) -> bool:
    """Claims one send; False when someone else did. Nobody else tries it while it may be under way."""
    same = (outbox.c.id == parcel.id, outbox.c.sends == parcel.sends, outbox.c.status != "sent")
    claimed = {"status": "sending", "sends": parcel.sends + 1, "retry_at": tx.now + LONGEST_SEND_MS}
    return tx.changed(update(outbox).where(*same).values(**claimed))


def release_messages(tx: Tx) -> None:
    """For whoever knows that every earlier sender is dead: what they were sending can be sent at once."""
    tx.update(outbox, {"status": "sending"}, status="waiting", retry_at=None)


def arrived(tx: Tx, parcel_ids: Collection[str]) -> int:
    """Parcels that need no sending to be where they should be; returns how many."""
    these = outbox.c.id.in_(parcel_ids), outbox.c.status != "sent"
    values = {"status": "sent", "sends": outbox.c.sends + 1, "sent_at": tx.now, "error": None}
    return tx.execute(update(outbox).where(*these).values(**values)).rowcount


def sent(tx: Tx, parcel_id: str) -> None:
    tx.execute(
        update(outbox).where(outbox.c.id == parcel_id).values(status="sent", sent_at=tx.now, error=None)
    )


def not_sent(tx: Tx, parcel_id: str, error: str, *, again_in_ms: int) -> None:
    same = (outbox.c.id == parcel_id, outbox.c.status != "sent")
    failed = {"status": "failed", "error": error, "retry_at": tx.now + again_in_ms}
    tx.execute(update(outbox).where(*same).values(**failed))
