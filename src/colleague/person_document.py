"""Somebody who uses the page, as a document: the same from the store to the terminal and over HTTP.

Imports nothing of ours, so that a command that only asks a gateway can use it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

Role = Literal["viewer", "approver", "admin"]
"""`viewer` looks, `approver` decides, `admin` does everything."""


class PersonDocument(TypedDict):
    """`experts` are those an approver is limited to; null means all. `browsers` are signed in now."""

    name: str
    role: Role
    experts: list[str] | None
    created_at: str | None
    browsers: int


class ApprovalLink(TypedDict):
    """The path of a link that decides one question, once."""

    approval: str
    path: str
    expires_at: str | None


class SignInLink(TypedDict):
    """The path of a link with which somebody signs in once, within a day."""

    name: str
    path: str
