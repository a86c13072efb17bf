"""Numbers and sums of money as written, and the values they may mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CURRENCIES = "eur|usd|gbp|chf|jpy|cny|inr|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|brl|mxn|zar|rs"

_TELLING_DIGITS = 3
_WRITTEN = re.compile(r"([0-9][0-9.,']*)(k?)")
_REPEATED = re.compile(r"([.,'])\1+")
_POINT = re.compile(r"[0-9]+\.[0-9]+")
_COMMA = re.compile(r"[0-9]+,[0-9]+")
_GROUPED = re.compile(r"([1-9][0-9]{0,2}(?:([.,'])[0-9]{3})(?:\2[0-9]{3})*)(?:[.,]([0-9]+))?")
_TRIPLES = re.compile(r"[0-9]{3}(?:,[0-9]{3})+")
_PLAIN = re.compile(r"0*([0-9]*)(?:\.([0-9]+))?")


@dataclass(frozen=True)
class Amount:
    """One meaning of a number. `telling` when it has three digits or a decimal part."""

    value: str
    telling: bool


def amounts(written: str) -> tuple[Amount, ...]:
    """Every meaning: `1.200` may be 1.2 or 1200, and `300,500` one number or two. None for other words."""
    match = _WRITTEN.fullmatch(written)
    if match is None:
        return ()
    body = match[1] if match[1].isdigit() else _REPEATED.sub(r"\1", match[1])
    found = (_amount(plain, thousands=bool(match[2])) for plain in _meanings(body))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def value_of(written: str) -> str:
    """The likeliest value, so that `1,200` and `1200.00` are one; other words stay as they are."""
    found = amounts(written)
    return found[0].value if found else written


def groups_of(value: str) -> tuple[str, ...]:
    """A value in groups of three digits, as when it is written with spaces: `1`, `200`."""
    whole, point, decimals = value.partition(".")
    first = len(whole) % 3 or 3
    groups = [whole[:first], *(whole[at : at + 3] for at in range(first, len(whole), 3))]
    return (*groups[:-1], value_of(f"{groups[-1]}{point}{decimals}") if point else groups[-1])


def _meanings(body: str) -> Iterator[str]:
    if body.isdigit() or _POINT.fullmatch(body):
        yield body
    grouped = _GROUPED.fullmatch(body)
    if grouped:
        yield re.sub("[.,']", "", grouped[1]) + (f".{grouped[3]}" if grouped[3] else "")
    elif _COMMA.fullmatch(body):
        yield body.replace(",", ".")
    if "," in body and (not grouped or _TRIPLES.fullmatch(body)):
        yield from body.split(",")


def _amount(plain: str, *, thousands: bool) -> Amount | None:
    match = _PLAIN.fullmatch(plain)
    if match is None:
        return None
    whole, decimals = match[1], match[2] or ""
    if thousands:
        whole, decimals = (whole + f"{decimals:0<3}"[:3]).lstrip("0"), decimals[3:]
    rest = decimals.rstrip("0")
    if not whole and not rest:
        return None
    value = f"{whole or '0'}.{rest}" if rest else whole
    return Amount(value, telling=len(whole) >= _TELLING_DIGITS or bool(match[2]))
