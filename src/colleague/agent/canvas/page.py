"""A canvas as one HTML page that runs nothing and loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from colleague.agent.canvas.text_view import cell_text, chart_table

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>:root{{color-scheme:light dark}}
body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse}}td,th{{border:1px solid #bbb;padding:.3rem .6rem;text-align:left}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere}}svg{{max-width:100%;height:auto}}</style></head>
<body><h1>{title}</h1>
"""
_COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#975a16", "#285e61", "#4a5568")
_WIDTH, _HEIGHT = 800, 320


def canvas_page(title: str, kind: str, content: dict[str, Any]) -> str:
    """HTML of a model is shown as source: it is data, and nothing of it becomes part of the page."""
    return f"{_HEAD.format(title=escape(title))}{_body(kind, content)}\n</body></html>\n"


def _body(kind: str, content: dict[str, Any]) -> str:
    if kind == "document":
        return _markdown(content["text"])
    if kind == "table":
        return _table(content["columns"], content["rows"])
    if kind == "chart":
        return f"{_chart(content)}\n{_table(*chart_table(content))}"
    return (
        f"<p>The source of an HTML document, which is not run here:</p>\n<pre>{escape(content['text'])}</pre>"
    )


def _markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _chart(content: dict[str, Any]) -> str:
    numbers = [value for each in content["series"] for value in each["values"] if value is not None]
    low, high = min([0, *numbers]), max([0, *numbers])
    scale = _HEIGHT / ((high - low) or 1)
    zero = high * scale
    draw = _bars if content["type"] == "bar" else _lines
    shapes = "\n".join(draw(content, scale, zero))
    legend = " ".join(
        f'<span style="color:{_colour(number)}">&#9632;</span> {escape(each["name"])}'
        for number, each in enumerate(content["series"])
    )
    axis = f'<line x1="0" x2="{_WIDTH}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="#888"/>'
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">\n{shapes}\n{axis}\n</svg>\n<p>{legend}</p>'


def _bars(content: dict[str, Any], scale: float, zero: float) -> Iterator[str]:
    series, count = content["series"], len(content["labels"])
    group = _WIDTH / count
    width = group * 0.8 / len(series)
    for number, each in enumerate(series):
        for place, value in enumerate(each["values"]):
            if value is not None:
                left, size = place * group + group * 0.1 + number * width, abs(value) * scale
                top = zero - size if value > 0 else zero
                told = f"<title>{escape(content['labels'][place])}: {value}</title>"
                yield (
                    f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{size:.1f}" '
                    f'fill="{_colour(number)}">{told}</rect>'
                )


def _lines(content: dict[str, Any], scale: float, zero: float) -> Iterator[str]:
    step = _WIDTH / max(1, len(content["labels"]) - 1)
    for number, each in enumerate(content["series"]):
        points = " ".join(
            f"{place * step:.1f},{zero - value * scale:.1f}"
            for place, value in enumerate(each["values"])
            if value is not None
        )
        yield f'<polyline points="{points}" fill="none" stroke-width="2" stroke="{_colour(number)}"/>'


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]
