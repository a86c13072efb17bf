"""Charts as geometry: what a template draws as SVG, with the table that says the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

WIDTH = 380.0
HEIGHT = 170.0
_LEFT, _TOP, _BOTTOM = 34.0, 8.0, 20.0
_ROW, _LABEL = 38.0, 16.0
MOST_LABELS = 8


@dataclass(frozen=True)
class ChartPart:
    """One piece of a bar. `series` is the number of its colour or its name; `title` says what it is."""

    x: float
    y: float
    width: float
    height: float
    series: str
    title: str
    href: str


@dataclass(frozen=True)
class ChartText:
    """A text in the drawing."""

    x: float
    y: float
    text: str
    anchor: str = "start"


@dataclass(frozen=True)
class ChartCell:
    """A cell of the table behind a chart."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Chart:
    """One drawing. `lines` are the heights of its scale, and `legend` names the series."""

    id: str
    title: str
    description: str
    width: float
    height: float
    parts: tuple[ChartPart, ...]
    texts: tuple[ChartText, ...]
    lines: tuple[float, ...]
    legend: tuple[tuple[str, str], ...]
    head: tuple[str, ...]
    rows: tuple[tuple[ChartCell, ...], ...]

    @property
    def is_empty(self) -> bool:
        return not self.parts


Link = Callable[[str, str], str]
"""Where the rows of one place and one series are."""
Amount = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """Values of a chart by place, such as a day, and then by name. `colours` says how each name is drawn."""

    places: tuple[str, ...]
    colours: Mapping[str, str]
    values: Mapping[tuple[str, str], float]
    labels: Mapping[str, str]
    amount: Amount
    link: Link

    def at(self, place: str) -> list[tuple[str, float]]:
        return [(name, self.values.get((place, name), 0)) for name in self.colours]

    def total(self, place: str) -> float:
        return sum(value for _, value in self.at(place))

    def label(self, place: str) -> str:
        return self.labels.get(place, place)


def columns(name: str, title: str, description: str, series: Series) -> Chart:
    """Bars that stand beside each other, their parts on top of each other."""
    top = nice_top(max((series.total(place) for place in series.places), default=0))
    room, step = HEIGHT - _TOP - _BOTTOM, (WIDTH - _LEFT) / max(1, len(series.places))
    parts: list[ChartPart] = []
    for number, place in enumerate(series.places):
        x, base = _LEFT + number * step, HEIGHT - _BOTTOM
        for what, value in series.at(place):
            if value > 0:
                height = value / top * room
                base -= height
                gap = min(6.0, step * 0.2)
                box = (_round(x + gap / 2), _round(base), _round(step - gap), _round(max(height, 1)))
                parts.append(_part(series, place, what, value, box))
    shares = _scale_shares(series, top)
    lines = tuple(_round(HEIGHT - _BOTTOM - room * share) for share in shares)
    marks = zip(lines, shares, strict=True)
    scale = [ChartText(_LEFT - 5, y + 4, series.amount(top * share), "end") for y, share in marks]
    texts = (*scale, *_places(series, step)) if parts else ()
    return _chart(name, title, description, HEIGHT, parts, texts, lines, series)


def _scale_shares(series: Series, top: float) -> tuple[float, ...]:
    """Where the scale has its lines. What is counted has no halves."""
    counted = all(float(value).is_integer() for value in series.values.values())
    return (0.0, 1.0) if counted and top < 2 else (0.0, 0.5, 1.0)


def bars(name: str, title: str, description: str, series: Series) -> Chart:
    """Bars below each other, each with its name over it."""
    top = max((series.total(place) for place in series.places), default=0) or 1
    room = WIDTH - 46
    parts: list[ChartPart] = []
    texts: list[ChartText] = []
    for number, place in enumerate(series.places):
        y, x = number * _ROW, 0.0
        texts.append(ChartText(0, y + 12, series.label(place)))
        for what, value in series.at(place):
            if value > 0:
                width = value / top * room
                box = (_round(x), _round(y + _LABEL + 2), _round(max(width - 1, 1)), 12.0)
                parts.append(_part(series, place, what, value, box))
                x += width
        texts.append(ChartText(_round(x + 6), y + _LABEL + 12, series.amount(series.total(place))))
    height = max(_ROW, len(series.places) * _ROW)
    return _chart(name, title, description, height, parts, texts, (), series)


def _part(
    series: Series, place: str, what: str, value: float, box: tuple[float, float, float, float]
) -> ChartPart:
    title = f"{series.label(place)}: {series.amount(value)} {what}".strip()
    return ChartPart(*box, series.colours[what], title, series.link(place, what))


def _places(series: Series, step: float) -> Iterable[ChartText]:
    """Not more labels than there is room for; the last one always."""
    every = math.ceil(len(series.places) / MOST_LABELS)
    for number, place in enumerate(series.places):
        if (len(series.places) - 1 - number) % every == 0:
            yield ChartText(_round(_LEFT + (number + 0.5) * step), HEIGHT - 5, series.label(place), "middle")


def _chart(
    name: str,
    title: str,
    description: str,
    height: float,
    parts: Sequence[ChartPart],
    texts: Iterable[ChartText],
    lines: tuple[float, ...],
    series: Series,
) -> Chart:
    used = [what for what in series.colours if any(series.values.get((p, what)) for p in series.places)]
    legend = tuple((series.colours[what], what) for what in used if what)
    head = ("", *(what or "number" for what in used))
    rows = tuple(
        (ChartCell(series.label(place)), *(_cell(series, place, what) for what in used))
        for place in series.places
    )
    drawn = (tuple(parts), tuple(texts), lines if parts else ())
    return Chart(name, title, description, WIDTH, height, *drawn, legend, head, rows)


def _cell(series: Series, place: str, what: str) -> ChartCell:
    value = series.values.get((place, what), 0)
    return ChartCell(series.amount(value), series.link(place, what) if value else "")


def nice_top(value: float) -> float:
    """The end of a scale: 1, 2, 4 or 10 times a power of ten, at least as much as the value."""
    if value <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 4, 6, 8, 10) if power * step >= value * 0.999999)


def _round(number: float) -> float:
    return round(number, 1)
