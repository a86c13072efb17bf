"""Numbers for a rehearsal, within the bounds of a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from colleague.experts.json_schema import Schema, is_number
from colleague.experts.rehearsal.naming import words

_MOST = 60
_LARGE = 10**15
_SMALL = 1e-9


def numbers(name: str, schema: Schema, *, whole: bool, first: int = 1) -> Iterator[float]:
    """Candidates: `first` when it is within the bounds, then what lies near them."""
    for value in _numbers(name, schema, first):
        if not whole:
            yield value
        elif value == int(value):
            yield int(value)


def _numbers(name: str, schema: Schema, first: int) -> Iterator[float]:
    low, high = _bound(schema, "minimum", max), _bound(schema, "maximum", min)
    step = _step(schema)
    if "minutes" in words(name):
        yield 30
    yield first
    start = math.ceil((low if low is not None else 0 if high is None else high - step) / step)
    yield from ((start + place) * step for place in range(_MOST))
    if high is not None:
        yield from ((math.floor(high / step) - place) * step for place in range(3))
        yield (high + (low if low is not None else high - 1)) / 2
    yield from _bounds(schema, "minimum")
    yield from _bounds(schema, "maximum")


def _bound(schema: Schema, word: str, choose: Callable[[list[float]], float]) -> float | None:
    """A bound to count from. Nobody counts from beyond a quadrillion."""
    near = [each for each in _bounds(schema, word) if abs(each) <= _LARGE]
    return choose(near) if near else None


def _bounds(schema: Schema, word: str) -> list[float]:
    values = [schema.get(each) for each in (word, f"exclusive{word.capitalize()}")]
    return [each for each in values if is_number(each) and -math.inf < each < math.inf]


def _step(schema: Schema) -> float:
    step: Any = schema.get("multipleOf")
    return step if is_number(step) and _SMALL <= step <= _LARGE else 1
