"""An authorization server and an MCP server that wants its tokens, in a thread of this process.

Its attributes say how it misbehaves."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send


class Site:
    """One origin with both. What was asked of it is in `seen`."""

    def __init__(self) -> None:
        self.port = 0
        self.seen: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.issued = 0
        self.valid: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.lifetime = 3600
        self.open = False
        self.refuses_all = False
        self.issuer = ""
        self.answered_issuer = ""
        self.resource_metadata = ""
        self.authorization_server = ""
        self.registered_uri = ""
        self.needed_scope = ""
        self.token_status = 200
        self.trusts_programs = False
        self.changes: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def requests(self, path: str) -> int:
        return self.seen.count(path)

    def end_tokens(self) -> None:
        self.valid.clear()

    def app(self) -> ASGIApp:
        desk = MCPServer("desk", version="1.0", log_level="ERROR")

        @desk.tool(annotations=ToolAnnotations(read_only_hint=True))
        def echo(text: str) -> str:
            """Say it again."""
            return text

        inner = desk.streamable_http_app(streamable_http_path="/mcp", stateless_http=True)
        routes = [
            Route("/.well-known/oauth-protected-resource/mcp", self._resource),
            Route("/.well-known/oauth-authorization-server", self._metadata),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/revoke", self._revoke, methods=["POST"]),
            Mount("/", _Guard(self, inner)),
        ]
        return Starlette(routes=routes, lifespan=lambda _: inner.router.lifespan_context(inner))

    async def _resource(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        servers = [self.authorization_server or self.url]
        return JSONResponse({"resource": f"{self.url}/mcp", "authorization_servers": servers})

    async def _metadata(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        found = {
            "issuer": self.issuer or self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse(found | self.changes)

    async def _register(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        asked = await request.json()
        given = {
            **asked,
            "client_id": "client-1",
            "client_secret": "client-secret-1",
            "client_secret_expires_at": 0,
        }
        given["token_endpoint_auth_method"] = "client_secret_post"  # noqa: S105
        if self.registered_uri:
            given["redirect_uris"] = [self.registered_uri]
        return JSONResponse(given, status_code=201)

    async def _authorize(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        asked = dict(request.query_params)
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        answer = {
            "code": code,
            "state": asked["state"],
            "iss": self.answered_issuer or self.issuer or self.url,
        }
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", status_code=302)

    async def _token(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.forms.append(form)
        if self.token_status != 200:
            return JSONResponse({"error": "temporarily_unavailable"}, status_code=self.token_status)
        if not self._is_right(form):
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        self.issued += 1
        access, refresh = f"access-token-{self.issued}", f"refresh-token-{self.issued}"
        self.valid.add(access)
        self.refresh_tokens = {refresh}
        lasts = {"expires_in": self.lifetime, "scope": "read"}
        if form["grant_type"] == "client_credentials":
            return JSONResponse({"access_token": access, "token_type": "Bearer"} | lasts)
        return JSONResponse(
            {"access_token": access, "token_type": "Bearer", "refresh_token": refresh} | lasts
        )

    def _is_right(self, form: dict[str, str]) -> bool:
        if form["grant_type"] == "client_credentials":
            return self.trusts_programs and form["resource"] == f"{self.url}/mcp"
        if form["grant_type"] == "refresh_token":
            return form["refresh_token"] in self.refresh_tokens
        asked = self.codes.pop(form["code"], None)
        if asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return False
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        return challenge == asked["code_challenge"] and form["resource"] == f"{self.url}/mcp"

    async def _revoke(self, request: Request) -> Response:
        self.seen.append(request.url.path)
        self.refresh_tokens.clear()
        self.valid.clear()
        return Response(status_code=200)


class _Guard:
    """Turns requests without a valid token away."""

    def __init__(self, site: Site, inner: ASGIApp) -> None:
        self._site, self._inner = site, inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        site, request = self._site, Request(scope, receive)
        site.seen.append(scope["path"])
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if site.refuses_all or not (site.open or token in site.valid):
            where = site.resource_metadata or f"{site.url}/.well-known/oauth-protected-resource/mcp"
            header = {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}
            await Response("", 401, headers=header)(scope, receive, send)
            return
        body = json.loads(await request.body() or b"{}")
        if site.needed_scope and body.get("method") == "tools/call":
            header = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{site.needed_scope}"'}
            await Response("", 403, headers=header)(scope, receive, send)
            return
        await self._inner(scope, _Again(json.dumps(body).encode(), receive), send)


class _Again:
    """A body that was read, given once more."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Any:
        body, self._body = self._body, None
        if body is None:
            return await self._receive()
        return {"type": "http.request", "body": body, "more_body": False}


@contextlib.contextmanager
def running(site: Site) -> Iterator[Site]:
    config = uvicorn.Config(site.app(), port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    site.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.should_exit = True
        thread.join(60)
