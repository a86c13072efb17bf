"""A mail as a mail: recognised in arguments and results by its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

LONGEST_LINK = 1_800
"""Characters of a mailto address that every mail program takes."""
_BODIES = ("body", "text", "message", "content")
_ENVELOPE = ("from", "to", "cc", "bcc", "subject", *_BODIES)


@dataclass(frozen=True)
class Mail:
    """The parts that people know. `rest` is whatever else there was."""

    sender: str
    to: str
    cc: str
    bcc: str
    subject: str
    body: str
    rest: Mapping[str, Any]

    @property
    def link(self) -> str:
        """For a mail program. A text that is too long for an address is left out, to be copied."""
        given = {"subject": self.subject, "cc": self.cc, "bcc": self.bcc, "body": self.body}
        whole = self._link(given)
        return whole if len(whole) <= LONGEST_LINK else self._link(given | {"body": ""})

    def _link(self, given: Mapping[str, str]) -> str:
        lines = {name: "\r\n".join(text.splitlines()) for name, text in given.items() if text}
        query = "&".join(f"{name}={quote(text, safe='')}" for name, text in lines.items())
        return f"mailto:{quote(self.to, safe='@,')}" + (f"?{query}" if query else "")


def mail_of(document: Any) -> Mail | None:
    """None when it is no mail: one has a subject, a text, and somebody it is to or from."""
    if not isinstance(document, dict):
        return None
    body = next((document[name] for name in _BODIES if isinstance(document.get(name), str)), None)
    people = {name: _people(document.get(name)) for name in ("from", "to", "cc", "bcc")}
    subject = document.get("subject")
    if body is None or not isinstance(subject, str) or not (people["to"] or people["from"]):
        return None
    rest = {name: value for name, value in document.items() if name not in _ENVELOPE}
    return Mail(people["from"], people["to"], people["cc"], people["bcc"], subject, body, rest)


def _people(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(found for each in value if (found := _people(each)))
    if isinstance(value, dict) and isinstance(value.get("email"), str):
        name = value.get("name")
        return f"{name} <{value['email']}>" if isinstance(name, str) and name else str(value["email"])
    return ""
