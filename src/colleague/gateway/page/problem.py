"""Errors as a page: what is wrong, what to do, and a way on."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from colleague.errors import DatabaseUnavailable
from colleague.gateway.api_error import ApiError, unavailable
from colleague.gateway.page.paths import top_of
from colleague.gateway.page.render import page
from colleague.gateway.page.visitor import Visitor, find_visitor

TITLES: Mapping[int, str] = {
    403: "Not allowed",
    404: "Not found",
    410: "Gone",
    429: "Too many tries",
    503: "Not possible at the moment",
}
WAYS: Mapping[str, str] = {
    "chat": "All conversations",
    "docs": "Help",
    "experts": "All experts",
    "overview": "Overview",
    "runs": "All runs",
    "settings": "Settings",
}
"""Where to go on, by the section that somebody was in; else it is the inbox."""


async def problem_page(request: Request, refusal: ApiError) -> Response:
    """With the navigation, unless nobody is signed in or the database cannot tell who it is."""
    try:
        visitor = await find_visitor(request, request.app.state.gateway)
    except DatabaseUnavailable:
        visitor = None
    return _problem_page(request.url.path, refusal, visitor)


async def nothing_here(request: Request) -> Response:
    """Whoever is not signed in is asked to, and comes back: which addresses exist is not for strangers."""
    try:
        visitor = await find_visitor(request, request.app.state.gateway)
    except DatabaseUnavailable as error:
        return _problem_page(request.url.path, unavailable(error), None)
    if visitor is None:
        return sign_in_page(request)
    message = f"There is nothing at {request.url.path}. The link may be old, or mistyped."
    return _problem_page(request.url.path, ApiError(404, "not-found", message), visitor)


def sign_in_page(request: Request) -> Response:
    """A page that is open is sent to the form; whoever follows a link comes back to it afterwards."""
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?{urlencode({'next': here})}", 303)


def refused_page(path: str, refusal: ApiError) -> Response:
    """For a request that is refused before anybody looks who sent it."""
    return _problem_page(path, refusal, None)


def _problem_page(path: str, refusal: ApiError, visitor: Visitor | None) -> Response:
    section = top_of(path)
    return page(
        "problem.html",
        visitor,
        refusal.status,
        refusal.headers,
        missing=refusal.status == 404,
        title=TITLES.get(refusal.status, "This did not work"),
        problem=refusal.message,
        hint=refusal.more.get("hint", ""),
        section=section,
        sign_in=refusal.code not in ("wrong-host", "wrong-origin"),
        way=(f"/{section}", WAYS[section]) if section in WAYS else ("/", "Inbox"),
    )
