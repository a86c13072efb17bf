"""The whole of HTTP in one place: routes, and the layers around them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Scope

from colleague.errors import ColleagueError, DatabaseUnavailable
from colleague.gateway import hooks, openai_api
from colleague.gateway.api import (
    agents,
    approvals,
    audit,
    auth_profiles,
    canvases,
    channels,
    connections,
    deadletters,
    deliveries,
    events,
    expert_changes,
    expert_files,
    experts,
    grants,
    health,
    media,
    overview,
    people,
    runs,
    search,
    servers,
    sessions,
    skills,
    status,
    triggers,
)
from colleague.gateway.api_error import ApiError, for_path, refusal_of, unavailable
from colleague.gateway.compression import CompressionMiddleware
from colleague.gateway.expert_server import ExpertEndpoint
from colleague.gateway.expert_tools import ExpertTools
from colleague.gateway.gateway import Gateway
from colleague.gateway.middleware import (
    SHORT,
    UNEXPECTED,
    AuthMiddleware,
    ErrorMiddleware,
    LimitMiddleware,
    MethodMiddleware,
    MetricsMiddleware,
)
from colleague.gateway.openapi import describe
from colleague.gateway.page import approve, assets, docs, first_visit, inbox, settings, sign_in
from colleague.gateway.page import audit as page_audit
from colleague.gateway.page import expert_changes as page_expert_changes
from colleague.gateway.page import experts as page_experts
from colleague.gateway.page import overview as page_overview
from colleague.gateway.page import runs as page_runs
from colleague.gateway.page.chat import actions as chat_actions
from colleague.gateway.page.chat import routes as chat_routes
from colleague.gateway.page.chat.uploads import upload_limit
from colleague.gateway.page.paths import is_browser, wants_page
from colleague.gateway.page.problem import nothing_here, problem_page, sign_in_page
from colleague.gateway.page.visitor import SignInFirst
from colleague.runtime.service import Service
from colleague.shortage import is_shortage

log = logging.getLogger(__name__)

_CODES = {404: "not-found", 405: "method-not-allowed", 422: "bad-request", 400: "bad-request"}
MOST_NAMED = 5
MCP = "/mcp"
"""Where experts are tools of an MCP server."""

OPEN = (hooks.router, health.router)
PAGE = (
    assets.router,
    approve.router,
    sign_in.router,
    inbox.router,
    first_visit.router,
    page_runs.router,
    chat_routes.router,
    chat_actions.router,
    page_expert_changes.router,
    page_experts.router,
    page_overview.router,
    settings.router,
    page_audit.router,
    docs.router,
)
_NOUNS = (
    agents,
    approvals,
    audit,
    auth_profiles,
    canvases,
    channels,
    connections,
    deadletters,
    deliveries,
    events,
    expert_changes,
    expert_files,
    experts,
    grants,
    media,
    overview,
    people,
    runs,
    search,
    servers,
    sessions,
    skills,
    status,
    triggers,
)
GUARDED = (*(noun.router for noun in _NOUNS), openai_api.router, health.guarded)


def build(gateway: Gateway) -> ASGIApp:
    """Outermost first: what a request passes on its way in."""
    routes = build_routes(gateway)

    async def most_bytes(scope: Scope) -> int:
        usual = gateway.live.settings.hooks.max_body_bytes
        return max(usual, await upload_limit(Request(scope), gateway))

    return MetricsMiddleware(
        ErrorMiddleware(
            AuthMiddleware(
                LimitMiddleware(
                    MethodMiddleware(
                        CompressionMiddleware(routes), lambda scope: allowed_methods(routes, scope)
                    ),
                    gateway.limits,
                    most_bytes,
                ),
                gateway.live,
                gateway.throttle,
            )
        ),
        gateway.metrics,
    )


def build_routes(gateway: Gateway) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.gateway = gateway
    app.router.routes.append(
        Route(MCP, _mcp_endpoint(gateway), methods=["GET", "POST", "DELETE"], include_in_schema=False)
    )
    for router in (*OPEN, *PAGE, *GUARDED):
        app.router.routes.extend(router.routes)  # include_router would build each of them a second time
    describe(app, guarded={route.path_format for router in GUARDED for route in router.routes})
    app.add_exception_handler(SignInFirst, _sign_in_first)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _wrong_shape)
    app.add_exception_handler(ApiError, _refused)
    app.add_exception_handler(ColleagueError, _refused)
    app.add_exception_handler(DatabaseUnavailable, _unavailable)
    app.add_exception_handler(OSError, _short_or_unexpected)
    app.add_exception_handler(Exception, _unexpected)
    return app


def _mcp_endpoint(gateway: Gateway) -> ExpertEndpoint:
    def service() -> contextlib.nullcontext[Service]:
        return contextlib.nullcontext(gateway.service)

    tools = ExpertTools(gateway.home, service, service, served=lambda: True)
    return ExpertEndpoint(tools, gateway.stopping)


async def _sign_in_first(request: Request, _: Exception) -> Response:
    return sign_in_page(request)


def allowed_methods(app: FastAPI, scope: dict[str, Any]) -> list[str]:
    """The verbs that the path of a request takes; none when there is no such path."""
    found: set[str] = set()
    own = (route for route in app.router.routes if isinstance(route, Route))
    for route in (*own, *(route for router in (*OPEN, *PAGE, *GUARDED) for route in router.routes)):
        match, _ = route.matches(scope)
        if match is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return sorted(found | ({"HEAD"} if "GET" in found else set()) | ({"OPTIONS"} if found else set()))


async def _answer(request: Request, refusal: ApiError) -> Response:
    if wants_page(request.scope):
        return await problem_page(request, refusal)
    document = for_path(refusal, request.url.path).document
    return JSONResponse(document, refusal.status, headers=dict(refusal.headers))


async def _refused(request: Request, error: Exception) -> Response:
    if is_shortage(error):
        return await _answer(request, SHORT)
    if isinstance(error, ColleagueError):
        return await _answer(request, refusal_of(error))
    if not isinstance(error, ApiError):
        raise error
    return await _answer(request, error)


async def _unavailable(request: Request, error: Exception) -> Response:
    if not isinstance(error, DatabaseUnavailable):
        raise error
    return await _answer(request, unavailable(error))


async def _short_or_unexpected(request: Request, error: Exception) -> Response:
    """Raised again when it is no shortage, so that the log has it."""
    if not is_shortage(error):
        raise error
    log.warning("a request is told to come again: %s", error)
    return await _answer(request, SHORT)


async def _unexpected(request: Request, __: Exception) -> Response:
    return await _answer(request, UNEXPECTED)


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 404 and is_browser(request.scope) and wants_page(request.scope):
        return await nothing_here(request)
    messages = {
        404: "there is nothing at this address; see /openapi.json",
        405: "this address takes other verbs",
    }
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(allowed_methods(request.app, dict(request.scope)))
    message = messages.get(error.status_code, str(error.detail))
    return await _answer(
        request, ApiError(error.status_code, _CODES.get(error.status_code, "refused"), message, headers)
    )


async def _wrong_shape(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return await _answer(request, ApiError(422, "bad-request", "; ".join(_field_errors(error.errors()))))


def _field_errors(found: Iterable[dict[str, Any]]) -> list[str]:
    """Which part, and what is wrong with it; never what was sent, which may be a secret."""
    return [
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in list(found)[:MOST_NAMED]
    ]
