"""Texts for a rehearsal, made from what a parameter is called and described as."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from colleague.experts.json_schema import Schema, is_number
from colleague.experts.rehearsal.naming import words
from colleague.experts.rehearsal.pattern import matching_texts

DATE, LATER_DATE = "2026-01-15", "2026-01-16"
TIME, LATER_TIME = "2026-01-15T09:00:00+00:00", "2026-01-16T17:00:00+00:00"
EMAIL = "rehearsal@example.com"
LINK = "https://example.com/rehearsal"

_FORMATS = {
    "date": DATE,
    "date-time": TIME,
    "time": "09:00:00+00:00",
    "duration": "PT30M",
    "email": EMAIL,
    "idn-email": EMAIL,
    "uri": LINK,
    "iri": LINK,
    "url": LINK,
    "uri-reference": LINK,
    "iri-reference": LINK,
    "uri-template": LINK,
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/rehearsal",
    "relative-json-pointer": "0",
    "regex": "rehearsal",
}
_MOST_CHARACTERS = 20_000
_LONGEST_SAID = 160
_FOUR_DIGITS = re.compile(r"yyyy-mm-dd", re.IGNORECASE)
_MOMENT = re.compile(
    r"\biso[ -]?8601|\bwith (an )?offset|\btimestamp|\bdate[- ]?(and )?time\b", re.IGNORECASE
)
_DAY = re.compile(r"^(?:\S+ ){0,2}(date|day)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"\baddress(es)?\b|\be-?mail of\b|^(the )?e-?mail$", re.IGNORECASE)
_CHOICE = re.compile(r"([a-z_]+)(, [a-z_]+)* or [a-z_]+(?=$|[.,;])")
_EMPTY = re.compile(r"\bempty (when|unless|if|while|until|for)\b", re.IGNORECASE)
_ADDRESSED = {"email", "mail", "address", "addresses", "emails", "to", "cc", "bcc", "recipient", "sender"}
_COPIED = {"cc", "bcc"}
_LATER = {"end", "ends", "until", "to", "before", "finish", "stop", "latest", "max"}


def texts(name: str, schema: Schema) -> Iterator[str]:
    """Candidates, the most telling first, within the schema's lengths; the caller checks them."""
    for text in _candidates(name, schema):
        yield _with_length(text, schema)


def means_address(name: str, description: str) -> bool:
    """Whether it is an email address, by its name or by what is said about it."""
    named = not _ADDRESSED.isdisjoint(words(name)[-1:])
    return named or _ADDRESS.search(description) is not None


def is_copied(name: str) -> bool:
    """Whether it names people who get a copy: nobody, when nobody is known."""
    return not _COPIED.isdisjoint(words(name)[-1:])


def may_be_empty(schema: Schema) -> bool:
    return _EMPTY.search(described(schema)) is not None


def described(schema: Schema) -> str:
    description = schema.get("description")
    return description if isinstance(description, str) else ""


def _candidates(name: str, schema: Schema) -> Iterator[str]:
    known = _FORMATS.get(str(schema.get("format")))
    if known is not None:
        yield known
    meant = _meant(name, described(schema))
    if meant:
        yield meant
    yield _in_its_place(name, described(schema))
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        yield from matching_texts(pattern)
        yield from (EMAIL, LINK, DATE, TIME, "rehearsal", "REHEARSAL", "R", "1", "")


def _in_its_place(name: str, description: str) -> str:
    """What stands where a model would write: what it would write about, so that nobody takes it for that."""
    said = " ".join(description.split()).rstrip(".")
    about = f" ({said[:1].lower()}{said[1:]})" if 0 < len(said) <= _LONGEST_SAID else ""
    what = f"{' '.join(words(name))}{about}".strip()
    return f"[rehearsal: {what}]" if what else "[rehearsal]"


def _meant(name: str, description: str) -> str:
    choice = _CHOICE.match(description)
    if choice:
        return choice[1]
    parts = words(name)
    last, later = parts[-1] if parts else "", bool(_LATER.intersection(parts))
    if _FOUR_DIGITS.search(description):
        return LATER_DATE if later else DATE
    if _MOMENT.search(description) or last in ("at", "time", "timestamp", "datetime"):
        return LATER_TIME if later else TIME
    if means_address(name, description):
        return EMAIL
    if "date" in parts or last in ("today", "deadline") or _DAY.search(description):
        return LATER_DATE if later else DATE
    if last in ("url", "uri", "link", "href", "website"):
        return LINK
    return f"rehearsal-{name}" if last in ("id", "ids", "key", "uuid") else ""


def _with_length(text: str, schema: Schema) -> str:
    least, most = _whole(schema.get("minLength")), _whole(schema.get("maxLength"))
    if least is not None and len(text) < least <= _MOST_CHARACTERS:
        text = (text + " rehearsal" * (least // 10 + 1))[: max(least, len(text))]
    return text if most is None else text[: max(0, most)]


def _whole(value: Any) -> int | None:
    return int(value) if is_number(value) and value == value // 1 else None
