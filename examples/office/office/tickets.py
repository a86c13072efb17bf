"""The ticket desk: what customers write, what is answered, and money given back."""

from __future__ import annotations

import sqlite3
from typing import Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from office.store import insert, now

Status = Literal["open", "closed", "all"]


class Customer(TypedDict):
    """Who asks."""

    name: str
    email: str


class Order(TypedDict):
    """What was bought. `refunded` is what was given back so far."""

    order_id: str
    product: str
    paid: float
    refunded: float
    currency: str
    delivered_at: str


class Message(TypedDict):
    """One message of a ticket; the author is customer or desk."""

    author: str
    text: str
    at: str


class BriefTicket(TypedDict):
    """A ticket in a list."""

    ticket_id: str
    status: str
    subject: str
    customer_email: str
    created_at: str


class Ticket(TypedDict):
    """A ticket in full, its messages oldest first."""

    ticket_id: str
    status: str
    subject: str
    customer: Customer
    order: Order
    messages: list[Message]
    created_at: str
    resolution: str


class Tickets(TypedDict):
    """Oldest first."""

    tickets: list[BriefTicket]


class Reply(TypedDict):
    """A reply that was sent."""

    reply_id: str
    sent_at: str


class Refund(TypedDict):
    """Money given back. `refunded_total` is the sum for the order."""

    refund_id: str
    refunded_total: float
    currency: str
    created_at: str


class Closed(TypedDict):
    """A ticket that was closed."""

    ticket_id: str
    previous_status: str
    status: str
    closed_at: str


def get_ticket(db: sqlite3.Connection, ticket_id: str) -> Ticket:
    """Read one ticket with its customer, its order and every message, oldest first."""
    row = _ticket_row(db, ticket_id)
    messages = db.execute("SELECT * FROM messages WHERE ticket_id = ? ORDER BY id", (ticket_id,))
    return Ticket(
        ticket_id=row["ticket_id"],
        status=row["status"],
        subject=row["subject"],
        customer=Customer(name=row["customer_name"], email=row["customer_email"]),
        order=_order(db, row),
        messages=[Message(author=each["author"], text=each["text"], at=each["at"]) for each in messages],
        created_at=row["created_at"],
        resolution=row["resolution"],
    )


def list_tickets(
    db: sqlite3.Connection,
    status: Status = "open",
    customer_email: Annotated[str, Field(description="Only this customer's; everyone's when left out")] = "",
    limit: Annotated[int, Field(ge=1, description="At most this many")] = 100,
) -> Tickets:
    """List tickets in brief, oldest first."""
    rows = db.execute(
        "SELECT * FROM tickets WHERE ? IN ('all', status) AND ? IN ('', customer_email)"
        " ORDER BY created_at LIMIT ?",
        (status, customer_email.strip(), limit),
    )
    columns = tuple(BriefTicket.__annotations__)
    return Tickets(tickets=[BriefTicket(**{key: row[key] for key in columns}) for row in rows])  # type: ignore[typeddict-item]


def add_reply(
    db: sqlite3.Connection, ticket_id: str, body: Annotated[str, Field(description="Plain text")]
) -> Reply:
    """Answer the customer in the ticket. It is mailed at once and cannot be taken back."""
    _ticket_row(db, ticket_id)
    at = now()
    number = insert(db, "messages", {"ticket_id": ticket_id, "author": "desk", "text": body, "at": at})
    return Reply(reply_id=f"reply-{number}", sent_at=at)


def refund(
    db: sqlite3.Connection,
    ticket_id: str,
    amount: Annotated[float, Field(gt=0, description="In the order's currency")],
    reason: Annotated[str, Field(description="The policy line and the evidence, in one sentence")],
) -> Refund:
    """Give money back on the ticket's order, to the way it was paid. Cannot be undone."""
    row = _ticket_row(db, ticket_id)
    order = _order(db, row)
    left = round(order["paid"] - order["refunded"], 2)
    if amount > left:
        raise ToolError(f"{amount:.2f} is more than the {left:.2f} {order['currency']} left to refund")
    at = now()
    entry = {"ticket_id": ticket_id, "amount": amount, "currency": order["currency"], "reason": reason}
    number = insert(db, "refunds", {**entry, "created_at": at})
    total = round(order["refunded"] + amount, 2)
    return Refund(
        refund_id=f"refund-{number}", refunded_total=total, currency=order["currency"], created_at=at
    )


def close_ticket(
    db: sqlite3.Connection,
    ticket_id: str,
    resolution: Annotated[str, Field(description="How it ended, in one sentence")],
) -> Closed:
    """Close a ticket. The customer is told and can open it again by answering."""
    row = _ticket_row(db, ticket_id)
    at = row["closed_at"] or now()
    db.execute(
        "UPDATE tickets SET status = 'closed', resolution = ?, closed_at = ? WHERE ticket_id = ?",
        (resolution, at, ticket_id),
    )
    return Closed(ticket_id=ticket_id, previous_status=row["status"], status="closed", closed_at=at)


def _ticket_row(db: sqlite3.Connection, ticket_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM tickets WHERE ticket_id = ?", (ticket_id,)).fetchone()
    if row is None:
        raise ToolError(f"there is no ticket {ticket_id}; list_tickets names them")
    return row


def _order(db: sqlite3.Connection, row: sqlite3.Row) -> Order:
    refunded = db.execute(
        "SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE ticket_id = ?", (row["ticket_id"],)
    ).fetchone()[0]
    return Order(
        order_id=row["order_id"],
        product=row["product"],
        paid=row["paid"],
        refunded=round(refunded, 2),
        currency=row["currency"],
        delivered_at=row["delivered_at"],
    )
