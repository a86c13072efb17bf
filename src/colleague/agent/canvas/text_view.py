"""A canvas as text, for a terminal and for the agent itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def canvas_text(kind: str, content: dict[str, Any]) -> str:
    """Markdown and HTML as they were written; tables and charts as Markdown tables."""
    if kind == "table":
        return _table(content["columns"], content["rows"])
    if kind == "chart":
        return _table(*chart_table(content))
    return str(content["text"])


def chart_table(content: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The numbers of a chart: columns and rows."""
    series = content["series"]
    rows = [
        [label, *(each["values"][place] for each in series)] for place, label in enumerate(content["labels"])
    ]
    return ["", *(each["name"] for each in series)], rows


def cell_text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(columns), ["---"] * len(columns), *([cell_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)


def _escaped(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")
