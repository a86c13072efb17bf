"""Arguments of a call as a person reads them: text as text, money as money, a date as a date."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

FieldKind = Literal["line", "text", "list", "number", "money", "date", "switch", "choice", "data"]
LONG_CHARS = 80

_MONEY = re.compile(r"(^|_)(amount|price|cost|total|budget|fee|revenue|discount_amount)(_|$)", re.IGNORECASE)
_CURRENCY_NAME = re.compile(r"_(usd|eur|gbp|chf|aud|cad|jpy|sek|nok|dkk)$", re.IGNORECASE)
_CURRENCY = re.compile(r"[A-Z]{3}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*")


@dataclass(frozen=True)
class ReadableField:
    """One argument. `text` is what stands in the form, `shown` what a person reads."""

    name: str
    kind: FieldKind
    text: str
    required: bool = False
    description: str = ""
    shown: str = ""
    choices: tuple[str, ...] = ()
    absent: bool = False
    """Whether the call does not have it, and could."""


def readable_fields(arguments: Any, parameters: dict[str, Any] | None = None) -> list[ReadableField]:
    """The arguments of a call, in their order; with what the tool says of each."""
    if not isinstance(arguments, dict):
        return [_field("", arguments, None, False, "")] if arguments is not None else []
    known, required = _known(parameters)
    currency = arguments.get("currency")
    unit = currency if isinstance(currency, str) and _CURRENCY.fullmatch(currency) else ""
    return [
        _field(str(name), value, known.get(name), name in required, unit) for name, value in arguments.items()
    ]


def editable_fields(arguments: Any, parameters: dict[str, Any] | None = None) -> list[ReadableField]:
    """The same, and after them what the tool takes and the call does not have."""
    there = arguments if isinstance(arguments, dict) else {}
    known, required = _known(parameters)
    more = [
        _absent(str(name), schema, name in required) for name, schema in known.items() if name not in there
    ]
    return readable_fields(there, parameters) + more


def _known(parameters: dict[str, Any] | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    schema = parameters or {}
    known, required = schema.get("properties"), schema.get("required")
    return known if isinstance(known, dict) else {}, tuple(required) if isinstance(required, list) else ()


def _absent(name: str, schema: Any, required: bool) -> ReadableField:
    options = _choices(schema)
    wanted = schema.get("type") if isinstance(schema, dict) else None
    plain: FieldKind = "line" if wanted in ("string", "number", "integer") else "data"
    kind: FieldKind = "choice" if options else "switch" if wanted == "boolean" else plain
    return ReadableField(name, kind, "", required, _description(schema), choices=options, absent=True)


def _field(name: str, value: Any, schema: Any, required: bool, currency: str) -> ReadableField:
    kind, text = _written(value)
    options = _choices(schema)
    shown = text
    if options and text in options:
        kind = "choice"
    elif kind == "number" and _MONEY.search(name):
        kind, shown = "money", _money(name, value, currency)
    elif kind == "line" and (spoken := _spoken_date(text)):
        kind, shown = "date", spoken
    elif kind == "switch":
        shown = "yes" if value else "no"
    return ReadableField(name, kind, text, required, _description(schema), shown, options)


def _written(value: Any) -> tuple[FieldKind, str]:
    if isinstance(value, bool):
        return "switch", "true" if value else "false"
    if isinstance(value, str):
        return ("text" if "\n" in value or len(value) > LONG_CHARS else "line"), value
    if isinstance(value, int | float):
        return "number", json.dumps(value)
    if value and isinstance(value, list) and all(_is_plain(each) for each in value):
        return "list", "\n".join(value)
    return "data", as_json(value)


def _money(name: str, value: float, currency: str) -> str:
    cents = name.lower().endswith("_cents")
    own = _CURRENCY_NAME.search(name)
    unit = own[1].upper() if own else currency
    amount = value / 100 if cents else value
    shown = f"{amount:,.2f}" if cents or amount != int(amount) else f"{int(amount):,}"
    return f"{shown} {unit}".rstrip()


def _spoken_date(text: str) -> str:
    """Empty when it is none."""
    try:
        if _DAY.fullmatch(text):
            return f"{date.fromisoformat(text):%a %-d %b %Y}"
        if _MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return f"{moment:%a %-d %b %Y, %H:%M}{_zone(moment)}"
    except ValueError:
        pass
    return ""


def _zone(moment: datetime) -> str:
    offset = moment.strftime("%z")
    return f" UTC{offset[:3]}:{offset[3:5]}".replace("UTC+00:00", "UTC") if offset else ""


def _choices(schema: Any) -> tuple[str, ...]:
    found = schema.get("enum") if isinstance(schema, dict) else None
    plain = isinstance(found, list) and all(isinstance(each, str) for each in found)
    return tuple(found) if plain and found else ()


def _description(schema: Any) -> str:
    said = schema.get("description", "") if isinstance(schema, dict) else ""
    return said if isinstance(said, str) else ""


def changed_value(before: Any, text: str) -> Any:
    """What a form's text means in the place of a value. Raises ValueError when it is no such value."""
    if isinstance(before, str):
        return text.replace("\r\n", "\n")
    if _written(before)[0] == "list":
        return [line for line in text.splitlines() if line.strip()]
    return json.loads(text)


def new_value(schema: Any, text: str) -> Any:
    """What a form's text means where there was nothing. Raises ValueError when it is no such value."""
    wanted = schema.get("type") if isinstance(schema, dict) else None
    return text.replace("\r\n", "\n") if wanted in ("string", None) else json.loads(text)


def _is_plain(value: Any) -> bool:
    """A text that is one line of a list and no more."""
    return isinstance(value, str) and bool(value.strip()) and value.splitlines() == [value]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
