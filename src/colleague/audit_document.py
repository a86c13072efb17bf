"""What somebody decided or changed, as a document: the same from the store to the terminal and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


class AuditEntry(TypedDict):
    """`action` is `noun.verb`; `subject` is what it was done to; `address` is the caller's over HTTP."""

    id: str
    at: str | None
    who: str
    source: str
    address: str
    action: str
    subject: str
    expert: str
    run_id: str | None
    detail: dict[str, Any]


class AuditPage(TypedDict):
    """`next_after` is the id to go on after; null when these were the last."""

    entries: list[AuditEntry]
    next_after: str | None
