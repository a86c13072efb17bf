"""Contacts, deals and the notes attached to them."""

from __future__ import annotations

import json
import sqlite3
from typing import Annotated, Literal, cast

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from office.store import insert, now

Stage = Literal[
    "qualification", "discovery", "evaluation", "proposal", "negotiation", "closed_won", "closed_lost"
]
Status = Literal["open", "closed", "all"]
CLOSED = "('closed_won', 'closed_lost')"
RECENT_NOTES = 10


class Contact(TypedDict, total=False):
    """Empty when nobody matches."""

    contact_id: str
    name: str
    email: str
    title: str
    company: str
    owner_email: str
    open_deal_ids: list[str]


class Stakeholder(TypedDict):
    """A person on the buyer's side."""

    name: str
    title: str
    role: str


class Note(TypedDict):
    """What a colleague wrote down."""

    created_at: str
    note: str


class BriefDeal(TypedDict, total=False):
    """A deal in a list."""

    deal_id: str
    name: str
    contact_id: str
    owner_email: str
    stage: str
    amount: float
    currency: str
    close_date: str
    last_activity_at: str


class Deal(BriefDeal, total=False):
    """A deal in full; empty when there is none."""

    contact_email: str
    next_step: str
    competitors: list[str]
    stakeholders: list[Stakeholder]
    recent_notes: list[Note]


class Deals(TypedDict):
    """The least recently active first."""

    deals: list[BriefDeal]


class StageChange(TypedDict):
    """From where to where."""

    deal_id: str
    previous_stage: str
    stage: str
    updated_at: str


class CreatedNote(TypedDict):
    """A note that was added."""

    note_id: str
    created_at: str


def get_contact(
    db: sqlite3.Connection, email: Annotated[str, Field(description="Address the contact writes from")]
) -> Contact:
    """Find one contact by email address. Empty when nobody matches."""
    row = db.execute("SELECT * FROM contacts WHERE email = ? COLLATE NOCASE", (email.strip(),)).fetchone()
    if row is None:
        return Contact()
    deals = db.execute(
        f"SELECT deal_id FROM deals WHERE contact_id = ? AND stage NOT IN {CLOSED}",  # noqa: S608
        (row["contact_id"],),
    )
    return Contact(**dict(row), open_deal_ids=[each["deal_id"] for each in deals])  # type: ignore[typeddict-item]


def get_deal(db: sqlite3.Connection, deal_id: str = "", contact_id: str = "") -> Deal:
    """Read one deal, by deal_id, or by contact_id for the contact's most recently active open deal."""
    row = _deal_row(db, deal_id, contact_id)
    if row is None:
        return Deal()
    deal = dict(row)
    deal["competitors"] = json.loads(row["competitors"])
    deal["stakeholders"] = json.loads(row["stakeholders"])
    deal["recent_notes"] = _recent_notes(db, row["deal_id"])
    return cast(Deal, deal)


def list_deals(
    db: sqlite3.Connection,
    status: Status = "open",
    limit: Annotated[int, Field(ge=1, description="At most this many")] = 100,
) -> Deals:
    """List deals in brief, the least recently active first."""
    where = {"open": f"stage NOT IN {CLOSED}", "closed": f"stage IN {CLOSED}", "all": "1"}[status]
    columns = ", ".join(BriefDeal.__annotations__)
    query = f"SELECT {columns} FROM deals WHERE {where} ORDER BY last_activity_at LIMIT ?"  # noqa: S608
    return Deals(deals=[BriefDeal(**dict(row)) for row in db.execute(query, (limit,))])  # type: ignore[typeddict-item]


def update_deal_stage(
    db: sqlite3.Connection,
    deal_id: str,
    stage: Stage,
    reason: Annotated[str, Field(description="The buyer's evidence, in one sentence")],
) -> StageChange:
    """Move a deal to another stage. Changes the forecast."""
    row = db.execute("SELECT * FROM deals WHERE deal_id = ?", (deal_id,)).fetchone()
    if row is None:
        raise ToolError(f"there is no deal {deal_id}; list_deals names them")
    db.execute("UPDATE deals SET stage = ? WHERE deal_id = ?", (stage, deal_id))
    if stage != row["stage"]:
        _add_note(db, row["contact_id"], deal_id, f"Stage {row['stage']} to {stage}: {reason}")
    return StageChange(deal_id=deal_id, previous_stage=row["stage"], stage=stage, updated_at=now())


def create_note(db: sqlite3.Connection, contact_id: str, note: str, deal_id: str = "") -> CreatedNote:
    """Add a note to a contact, and to a deal when one is given. Visible to colleagues only."""
    if not db.execute("SELECT 1 FROM contacts WHERE contact_id = ?", (contact_id,)).fetchone():
        raise ToolError(f"there is no contact {contact_id}; get_contact finds one by address")
    if deal_id and not db.execute("SELECT 1 FROM deals WHERE deal_id = ?", (deal_id,)).fetchone():
        raise ToolError(f"there is no deal {deal_id}; list_deals names them")
    return _add_note(db, contact_id, deal_id, note)


def _add_note(db: sqlite3.Connection, contact_id: str, deal_id: str, note: str) -> CreatedNote:
    at = now()
    row = {"contact_id": contact_id, "deal_id": deal_id, "note": note, "created_at": at}
    return CreatedNote(note_id=f"n-{insert(db, 'notes', row)}", created_at=at)


def _deal_row(db: sqlite3.Connection, deal_id: str, contact_id: str) -> sqlite3.Row | None:
    where = "deal_id = ?" if deal_id else f"contact_id = ? AND stage NOT IN {CLOSED}"
    query = (
        "SELECT deals.*, contacts.email AS contact_email FROM deals JOIN contacts USING (contact_id)"  # noqa: S608
        f" WHERE {where} ORDER BY last_activity_at DESC"
    )
    row: sqlite3.Row | None = db.execute(query, (deal_id or contact_id,)).fetchone()
    return row


def _recent_notes(db: sqlite3.Connection, deal_id: str) -> list[Note]:
    query = "SELECT created_at, note FROM notes WHERE deal_id = ? ORDER BY created_at DESC, id DESC LIMIT ?"
    rows = db.execute(query, (deal_id, RECENT_NOTES))
    return [Note(created_at=row["created_at"], note=row["note"]) for row in rows]
