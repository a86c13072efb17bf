"""Where a transcript is cut in two: what is summarised, and what stays word for word."""

from __future__ import annotations

from collections.abc import Sequence

from colleague.agent.context.unit import BEFORE_RUN, ELSEWHERE, MessageUnit, Place


def cut_place(units: Sequence[MessageUnit], keep_tokens: int) -> Place | None:
    """The place of the first unit that stays; None when nothing can be summarised.

    The last unit always stays. Of the recent turns as many stay as fit, whole; when not even the last one
    fits, its last units stay."""
    first = _first_kept(units, keep_tokens)
    whole = next((index for index in range(first, len(units)) if units[index].opens), None)
    if whole is not None and whole > 0 and units[whole].place[0] != ELSEWHERE:
        seq, position = units[whole].place
        return (seq, BEFORE_RUN) if units[whole - 1].place[0] != seq else (seq, position)
    inside = next((index for index in range(first, len(units)) if units[index].place[0] != ELSEWHERE), None)
    return units[inside].place if inside else None


def _first_kept(units: Sequence[MessageUnit], keep_tokens: int) -> int:
    first, tokens = max(0, len(units) - 1), 0
    tokens = units[first].tokens if units else 0
    while first > 0 and tokens + units[first - 1].tokens <= keep_tokens:
        first -= 1
        tokens += units[first].tokens
    return first


def units_before(units: Sequence[MessageUnit], place: Place) -> list[MessageUnit]:
    return [unit for unit in units if unit.place < place]


def units_from(units: Sequence[MessageUnit], place: Place) -> list[MessageUnit]:
    return [unit for unit in units if unit.place >= place]
