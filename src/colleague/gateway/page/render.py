"""From a template and data to an answer that no script of others can run in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from colleague.gateway.page.assets import asset_path
from colleague.gateway.page.fields import ReadableField, as_json, editable_fields, readable_fields
from colleague.gateway.page.inline_code import inline_code
from colleague.gateway.page.markdown import markdown_html
from colleague.gateway.page.timeline import entry_text
from colleague.gateway.page.visitor import Visitor
from colleague.mcp.state_text import state_cure, state_words
from colleague.run_document import ApprovalDocument, short

SOON_SECONDS = 3_600
JUST_NOW_SECONDS = 5
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


def redirect(path: str) -> RedirectResponse:
    """After a form: where what it changed can be seen."""
    return RedirectResponse(path, 303, headers=dict(HEADERS))


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
    made.filters.update(short=short, ago=_ago, decided=decided, as_json=as_json, left=_left, is_soon=_is_soon)
    made.filters.update(readable=readable_fields, span=_amount, editable=editable_fields)
    made.filters.update(state_words=state_words, state_cure=state_cure, entry_text=entry_text)
    made.filters.update(inline_code=inline_code, markdown=markdown_html)
    made.globals.update(checks=_checks, asset=asset_path)
    return made


def _checks(each: ApprovalDocument, field: ReadableField) -> Markup:
    """The attributes of a field of a form that is checked while somebody types."""
    return Markup(
        'hx-post="/inbox/{}/check" hx-trigger="input changed delay:300ms, check" '
        'hx-include="closest form" hx-target="next .check" hx-swap="textContent" '
        'hx-sync="this:replace" hx-vals="{}"'
    ).format(each["id"], json.dumps({"checked": field.name}))


_PAST = {
    "approve": "approved",
    "reject": "rejected",
    "respond": "answered",
    "done": "done",
    "not_done": "not done",
    "happened": "said to have happened",
    "again": "permitted once more",
    "give_up": "given up",
}


def decided(decision: str | None) -> str:
    """What a person did with a question."""
    return _PAST.get(decision or "", "settled")


def _now() -> datetime:
    return datetime.now(UTC)


def _ago(moment: str | None) -> str:
    """How long ago, or until when, in words: `just now`, `5 min ago`, `in 2 h`."""
    if not moment:
        return ""
    seconds = (_now() - datetime.fromisoformat(moment)).total_seconds()
    if 0 <= seconds < JUST_NOW_SECONDS:
        return "just now"
    amount = _amount(abs(seconds))
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"


def _left(moment: str) -> str:
    """How long somebody has until then: `2 h left`."""
    seconds = (datetime.fromisoformat(moment) - _now()).total_seconds()
    return f"{_amount(seconds)} left" if seconds > 0 else "its time is up"


def _is_soon(moment: str) -> bool:
    return (datetime.fromisoformat(moment) - _now()).total_seconds() < SOON_SECONDS


def _amount(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
