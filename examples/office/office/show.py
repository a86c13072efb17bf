"""What is in the office, for people."""

from __future__ import annotations

import json
import sqlite3
import textwrap
from collections.abc import Callable, Iterable

from office.store import Store

Lines = Iterable[str]


def show(store: Store) -> str:
    with store.transaction() as db:
        return "\n".join(_section(db, title, lines) for title, lines in SECTIONS.items())


def _section(db: sqlite3.Connection, title: str, lines: Callable[[sqlite3.Connection], Lines]) -> str:
    body = "\n".join(lines(db)) or "nothing"
    return f"{title}\n{textwrap.indent(body, '  ')}\n"


def _inbox(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM mails WHERE NOT sent ORDER BY at"):
        sender = f"{row['from_name']} <{row['from_email']}>"
        yield f"{row['message_id']:<22}  {row['at'][:16]}  {sender}: {row['subject']}"


def _outbox(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM mails WHERE sent ORDER BY at, rowid"):
        yield f"{row['message_id']}  {row['at'][:16]}  to {_joined(row['recipients'])}: {row['subject']}"
        yield textwrap.indent(row["body"], "    ")


def _deals(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM deals ORDER BY deal_id"):
        amount = f"{row['amount']:,.0f} {row['currency']}"
        yield f"{row['deal_id']:<14} {row['stage']:<13} {amount:>12}  since {row['last_activity_at'][:10]}"


def _notes(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM notes ORDER BY created_at, id"):
        yield f"{row['created_at'][:16]}  {row['deal_id'] or row['contact_id']}: {row['note']}"


def _meetings(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM meetings ORDER BY starts_at"):
        yield f"{row['starts_at'][:16]}  {row['title']} ({_joined(row['attendees'])})"


def _tickets(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM tickets ORDER BY ticket_id"):
        yield f"{row['ticket_id']}  {row['status']:<6}  {row['customer_name']}: {row['subject']}"


def _replies(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM messages WHERE author = 'desk' ORDER BY id"):
        yield f"{row['ticket_id']}  {row['at'][:16]}  {row['text']}"


def _refunds(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM refunds ORDER BY id"):
        yield f"{row['ticket_id']}  {row['amount']:.2f} {row['currency']}: {row['reason']}"


def _ledger(db: sqlite3.Connection) -> Lines:
    for row in db.execute("SELECT * FROM ledger ORDER BY id"):
        key = row["idempotency_key"] or "no key"
        yield f"{row['id']}  {row['time']}  {row['operation']}  {key}  {row['arguments']}"


def _joined(addresses: str) -> str:
    return ", ".join(json.loads(addresses))


SECTIONS: dict[str, Callable[[sqlite3.Connection], Lines]] = {
    "Mail received": _inbox,
    "Mail sent": _outbox,
    "Deals": _deals,
    "Notes": _notes,
    "Calendar": _meetings,
    "Tickets": _tickets,
    "Replies to customers": _replies,
    "Refunds": _refunds,
    "Ledger": _ledger,
}
