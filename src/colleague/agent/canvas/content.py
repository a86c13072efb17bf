"""What a canvas shows, checked: Markdown, a table, a chart, or HTML that is only ever data."""

from __future__ import annotations

import math
from typing import Any, Literal, cast, get_args

from colleague.errors import UsageError

CanvasKind = Literal["document", "table", "chart", "html"]
KINDS = get_args(CanvasKind)
CHARTS = ("bar", "line")
MOST_CHARACTERS = 500_000
MOST_ROWS, MOST_COLUMNS, MOST_SERIES = 5_000, 100, 20
LONGEST_TITLE = 200


def checked_title(title: str) -> str:
    shown = " ".join(title.split())
    if not 0 < len(shown) <= LONGEST_TITLE:
        raise UsageError(f"the title has {len(shown)} characters", hint=f"it takes 1 to {LONGEST_TITLE}")
    return shown


def checked_content(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is stored. Raises UsageError with what is wrong."""
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}", hint=f"one of: {', '.join(KINDS)}")
    if kind == "table":
        return _table(given)
    if kind == "chart":
        return _chart(given.get("chart"))
    text = given.get("text")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("text is missing", hint=f"a {kind} is given as text")
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"the text has more than {MOST_CHARACTERS:,} characters", hint="show it in parts")
    return {"text": text}


def _table(given: dict[str, Any]) -> dict[str, Any]:
    columns: Any = given.get("columns")
    rows: Any = given.get("rows")
    if not _is_list(columns, str, MOST_COLUMNS):
        raise UsageError("columns are missing", hint=f"a list of 1 to {MOST_COLUMNS} names")
    if not _is_list(rows, list, MOST_ROWS, least=0):
        raise UsageError("rows are missing", hint=f"a list of at most {MOST_ROWS:,} lists")
    width = len(columns)
    for number, row in enumerate(rows, 1):
        if len(row) != width or not all(_is_cell(each) for each in row):
            raise UsageError(
                f"row {number} does not fit", hint=f"it takes {width} texts, numbers, true, false or null"
            )
    if sum(len(str(cell)) for row in rows for cell in row) > MOST_CHARACTERS:
        raise UsageError(f"the table has more than {MOST_CHARACTERS:,} characters", hint="show it in parts")
    return {"columns": columns, "rows": rows}


def _chart(chart: Any) -> dict[str, Any]:
    if not isinstance(chart, dict) or chart.get("type") not in CHARTS:
        raise UsageError(
            "chart is missing", hint="{type: bar or line, labels: [...], series: [{name, values}]}"
        )
    labels: Any = chart.get("labels")
    series: Any = chart.get("series")
    if not _is_list(labels, str, MOST_ROWS) or not _is_list(series, dict, MOST_SERIES):
        raise UsageError("the chart needs labels and series", hint=f"at most {MOST_SERIES} series")
    for each in series:
        values: Any = each.get("values")
        if not isinstance(each.get("name"), str) or not _is_list(values, object, MOST_ROWS):
            raise UsageError("a series needs a name and values")
        if len(values) != len(labels) or not all(_is_number(value) for value in values):
            raise UsageError(
                f"the series {each['name'][:50]!r} does not fit",
                hint=f"it takes {len(labels)} numbers or null",
            )
    kept = [{"name": each["name"], "values": each["values"]} for each in series]
    return {"type": chart["type"], "labels": labels, "series": kept}


def _is_list(value: Any, kind: type, most: int, *, least: int = 1) -> bool:
    return isinstance(value, list) and least <= len(value) <= most and all(isinstance(x, kind) for x in value)


def _is_cell(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(cast("float", value))
    )
