"""What is to be told to people, stored with what causes it. Sending comes after the commit."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update

from colleague.store.ids import new_id
from colleague.store.lanes import insert_into
from colleague.store.record import columns_of, record
from colleague.store.tables import outbox, word
from colleague.store.tx import Tx


@dataclass(frozen=True)
class Parcel:
    """Something to deliver: unique for its run, kind and subject, so that it is told once."""

    id: str
    run_id: str
    kind: str
    subject: str
    channel: str
    body: str
    status: str
    sends: int


_COLUMNS = columns_of(Parcel, outbox)


def put_in_outbox(tx: Tx, run_id: str, kind: str, subject: str, channel: str, body: str) -> None:
    statement = insert_into(tx)(outbox).values(
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
    tx.execute(statement.on_conflict_do_nothing())


def waiting_parcels(tx: Tx, limit: int = 100) -> list[Parcel]:
    query = (
        select(*_COLUMNS).where(outbox.c.status != word("sent")).order_by(outbox.c.created_at).limit(limit)
    )
    return [record(Parcel, row) for row in tx.all(query)]


def start_sending(tx: Tx, parcel: Parcel) -> bool:
    """Claims one send; False when someone else did."""
    same = (outbox.c.id == parcel.id, outbox.c.sends == parcel.sends, outbox.c.status != "sent")
    return tx.changed(update(outbox).where(*same).values(status="sending", sends=parcel.sends + 1))


def sent(tx: Tx, parcel_id: str) -> None:
    tx.execute(
        update(outbox).where(outbox.c.id == parcel_id).values(status="sent", sent_at=tx.now, error=None)
    )


def not_sent(tx: Tx, parcel_id: str, error: str) -> None:
    same = (outbox.c.id == parcel_id, outbox.c.status != "sent")
    tx.execute(update(outbox).where(*same).values(status="failed", error=error))
