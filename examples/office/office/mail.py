"""The watched sales mailbox."""

from __future__ import annotations

import json
import sqlite3
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from office.seed import TOM
from office.store import insert, now


class Sender(TypedDict):
    """Who wrote."""

    name: str
    email: str


Email = TypedDict(
    "Email",
    {
        "message_id": str,
        "thread_id": str,
        "from": Sender,
        "to": list[str],
        "cc": list[str],
        "subject": str,
        "body": str,
        "received_at": str,
        "attachments": list[str],
    },
)


class SentEmail(TypedDict):
    """A message that left."""

    message_id: str
    sent_at: str


def get_email(db: sqlite3.Connection, message_id: str) -> Email:
    """Read one message by its id."""
    row = db.execute("SELECT * FROM mails WHERE message_id = ?", (message_id,)).fetchone()
    if row is None:
        raise ToolError(f"there is no message {message_id}")
    return {
        "message_id": row["message_id"],
        "thread_id": row["thread_id"],
        "from": Sender(name=row["from_name"], email=row["from_email"]),
        "to": json.loads(row["recipients"]),
        "cc": json.loads(row["cc"]),
        "subject": row["subject"],
        "body": row["body"],
        "received_at": row["at"],
        "attachments": json.loads(row["attachments"]),
    }


def send(
    db: sqlite3.Connection,
    to: Annotated[str, Field(description="One address")],
    subject: str,
    body: Annotated[str, Field(description="Plain text")],
    cc: tuple[str, ...] = (),
    thread_id: Annotated[str, Field(description="Thread to answer in; a new thread when left out")] = "",
) -> SentEmail:
    """Send a message from the deal owner's address. Cannot be undone."""
    if "@" not in to:
        raise ToolError(f"{to!r} is not an address")
    sent = db.execute("SELECT COUNT(*) FROM mails WHERE sent").fetchone()[0]
    message_id, at = f"m-sent-{sent + 1}", now()
    row = {
        "message_id": message_id,
        "thread_id": thread_id or f"t-{message_id}",
        "from_name": "Tom Baker",
        "from_email": TOM,
        "recipients": json.dumps([to]),
        "cc": json.dumps(cc),
        "subject": subject,
        "body": body,
        "at": at,
        "attachments": "[]",
        "sent": 1,
    }
    insert(db, "mails", row)
    return SentEmail(message_id=message_id, sent_at=at)
