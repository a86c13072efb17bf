"""Which mails are new: the history of the mailbox, its list, and a mail that arrives.

A mail's place in the history is the number of its row, counted from FIRST."""

from __future__ import annotations

import base64
import json
import sqlite3
from email.utils import parseaddr
from typing import Annotated, Any, NotRequired

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from office.seed import TOM
from office.store import Store, insert, now

FIRST = 1000
MOST = 500
DOMAIN = "@" + TOM.partition("@")[2]
MAILBOX = f"sales{DOMAIN}"

Summary = TypedDict("Summary", {"id": str, "threadId": str, "from": str, "subject": str, "received_at": str})


class Added(TypedDict):
    """A mail that came."""

    message: Summary


class Change(TypedDict):
    """One step of the history."""

    id: str
    messagesAdded: list[Added]


class History(TypedDict):
    """What changed, as Gmail tells it; `historyId` is where the mailbox stands now."""

    history: list[Change]
    historyId: str
    nextPageToken: NotRequired[str]


class Messages(TypedDict):
    """Mails, the newest first."""

    messages: list[Summary]
    nextPageToken: NotRequired[str]


Address = Annotated[str, Field(description="Whose mail; an address of the office")]
PageSize = Annotated[int, Field(ge=1, le=MOST)]


def list_history(
    db: sqlite3.Connection,
    start_history_id: Annotated[str, Field(description="Changes after this one")],
    email_address: Address = MAILBOX,
    max_results: PageSize = 100,
    page_token: str = "",
) -> History:
    """The mails that came after a point in the history of the mailbox, the oldest first."""
    _check_mailbox(email_address)
    newest = _newest(db)
    start = _number(page_token or start_history_id)
    if start > newest:
        raise ToolError(f"history {start_history_id} is not known here, the newest is {newest}")
    rows = _rows(db, "rowid > ? ORDER BY rowid LIMIT ?", start - FIRST, max_results + 1)
    changes = [
        Change(id=str(row["rowid"] + FIRST), messagesAdded=[Added(message=_summary(row))])
        for row in rows[:max_results]
    ]
    found = History(history=changes, historyId=str(newest))
    if len(rows) > max_results:
        found["nextPageToken"] = changes[-1]["id"]
    return found


def list_messages(
    db: sqlite3.Connection, email_address: Address = MAILBOX, max_results: PageSize = 20, page_token: str = ""
) -> Messages:
    """The mails of the mailbox, the newest first."""
    _check_mailbox(email_address)
    skipped = _number(page_token or "0")
    rows = _rows(db, "1 ORDER BY at DESC, rowid DESC LIMIT ? OFFSET ?", max_results + 1, skipped)
    found = Messages(messages=[_summary(row) for row in rows[:max_results]])
    if len(rows) > max_results:
        found["nextPageToken"] = str(skipped + max_results)
    return found


def receive(store: Store, sender: str, subject: str, body: str) -> dict[str, Any]:
    """Puts a mail into the mailbox; what Google's Pub/Sub would push then."""
    name, address = parseaddr(sender)
    with store.transaction() as db:
        count = _newest(db) - FIRST + 1
        message_id = f"m-received-{count}"
        row = {
            "message_id": message_id,
            "thread_id": f"t-received-{count}",
            "from_name": name,
            "from_email": address,
            "recipients": json.dumps([TOM]),
            "cc": "[]",
            "subject": subject,
            "body": body,
            "at": now(),
            "attachments": "[]",
            "sent": 0,
        }
        insert(db, "mails", row)
        return push(_newest(db))


def push(history_id: int, address: str = MAILBOX) -> dict[str, Any]:
    """The envelope of a push: nothing of the mail, only that the mailbox changed."""
    change = json.dumps({"emailAddress": address, "historyId": history_id}).encode()
    message = {
        "data": base64.b64encode(change).decode(),
        "messageId": f"office-{history_id}",
        "publishTime": now(),
    }
    return {"message": message, "subscription": "projects/office/subscriptions/mail"}


def _newest(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COALESCE(MAX(rowid), 0) FROM mails").fetchone()[0]) + FIRST


def _rows(db: sqlite3.Connection, rest: str, *values: int) -> list[sqlite3.Row]:
    query = f"SELECT rowid, * FROM mails WHERE NOT sent AND {rest}"  # noqa: S608 - our own words
    return db.execute(query, values).fetchall()


def _summary(row: sqlite3.Row) -> Summary:
    return {
        "id": row["message_id"],
        "threadId": row["thread_id"],
        "from": f"{row['from_name']} <{row['from_email']}>".strip(),
        "subject": row["subject"],
        "received_at": row["at"],
    }


def _check_mailbox(address: str) -> None:
    if not address.strip().lower().endswith(DOMAIN):
        raise ToolError(f"there is no mailbox {address} in this office")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ToolError(f"{text!r} is no number")
    return int(text)
