"""Texts that an author wrote for a rehearsal, filled with what the run has read.

`{crm.get_contact.name}` is a value of the last result of an operation; `:first` takes its first word,
`:question` the sentence that asks. `{date+2}` and `{day+2}` are a date two working days after the mail came,
the second one in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from colleague.experts.rehearsal.known import Known

UNKNOWN = "(unknown)"
_LONGEST = 300
_REFERENCE = re.compile(r"\{([A-Za-z][\w.-]*)(?:\+(\d{1,3}))?(?::([a-z]+))?\}")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]+")
_LINE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
"""Inside a paragraph."""
_SATURDAY = 5


def filled_value(value: Any, known: Known) -> Any:
    """The same value, with every text in it filled."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _replacement(found, known), value)
    if isinstance(value, Mapping):
        return {name: filled_value(each, known) for name, each in value.items()}
    return [filled_value(each, known) for each in value] if isinstance(value, list) else value


def referred(name: str, known: Known) -> Any:
    """What `tool.operation.field` was in the last result of that operation; None when it is not known."""
    tool, _, rest = name.partition(".")
    operation, *path = rest.split(".")
    for told in known.results:
        if told.by == f"{tool}.{operation}":
            return _at(told.document, path)
    return None


def _replacement(found: re.Match[str], known: Known) -> str:
    name, days, form = found[1], found[2], found[3] or ""
    if days is not None and name in ("date", "day"):
        then = _workday(_came(known), int(days))
        return then.isoformat() if name == "date" else f"{then:%A} {then.day} {then:%B}"
    if "." not in name:
        return found[0]
    value = referred(name, known)
    return UNKNOWN if value in (None, "") else _FORMS.get(form, _whole)(value)


def _at(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, list):
            document = document[int(part)] if part.isdecimal() and int(part) < len(document) else None
        else:
            document = document.get(part) if isinstance(document, Mapping) else None
    return document


def _whole(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.0f}" if value == int(value) else f"{value:,}"
    return " ".join(str(value).split())[:_LONGEST]


def _first(value: Any) -> str:
    return next(iter(str(value).split()), UNKNOWN)


def _question(value: Any) -> str:
    """The first sentence that asks, else the first after the greeting."""
    text = _LINE_BREAK.sub(" ", str(value))
    sentences = [" ".join(each.split()) for each in _SENTENCE.findall(text)]
    asking = [each for each in sentences if each.endswith("?")]
    return next(iter([*asking, *sentences]), _whole(value))[:_LONGEST]


_FORMS: Mapping[str, Callable[[Any], str]] = {"first": _first, "question": _question}


def _came(known: Known) -> date:
    """The day that counts as today: the one on which the mail came, so that a second look says the same."""
    for told in known.results:
        moment = told.document.get("received_at") if isinstance(told.document, Mapping) else None
        if isinstance(moment, str):
            try:
                return datetime.fromisoformat(moment).date()
            except ValueError:
                continue
    return datetime.now(UTC).date()


def _workday(start: date, days: int) -> date:
    then = start
    while then.weekday() >= _SATURDAY:
        then += timedelta(days=1)
    for _ in range(days):
        then += timedelta(days=1)
        while then.weekday() >= _SATURDAY:
            then += timedelta(days=1)
    return then
