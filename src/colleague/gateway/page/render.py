"""From a template and data to an answer that no script of others can run in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from colleague.gateway.page.fields import readable_fields
from colleague.gateway.page.visitor import Visitor
from colleague.run_document import short

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page(
    template: str,
    visitor: Visitor | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **data: Any,
) -> HTMLResponse:
    """Every text of `data` is escaped."""
    text = fragment(template, visitor, **data)
    return HTMLResponse(text, status, headers={**HEADERS, **(headers or {})})


def fragment(template: str, visitor: Visitor | None = None, **data: Any) -> str:
    """A part of a page, for one that is open. Every text of `data` is escaped."""
    return _templates().get_template(template).render(visitor=visitor, now=_now(), **data)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("colleague.gateway.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(short=short, ago=_ago, readable=readable_fields, span=_amount)
    return made


def _now() -> datetime:
    return datetime.now(UTC)


def _ago(moment: str | None) -> str:
    """How long ago, or until when, in words: `5 min ago`, `in 2 h`."""
    if not moment:
        return ""
    seconds = (_now() - datetime.fromisoformat(moment)).total_seconds()
    amount = _amount(abs(seconds))
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"


def _amount(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
