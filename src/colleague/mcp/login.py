"""Logging in at an MCP server, and out again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2

from colleague.errors import UsageError
from colleague.mcp.connection import Connection, ConnectionContext
from colleague.mcp.launch import Launch, prepare
from colleague.mcp.log import ServerLog, log_file
from colleague.mcp.login_record import LoginRecord, LoginRedactor, LoginStore
from colleague.mcp.oauth import LoginClient, NewLogin
from colleague.mcp.oauth_requests import LoginTrouble, OAuthRequests
from colleague.mcp.pid_file import PidFile
from colleague.mcp.redirect_listener import RedirectListener, listening

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

    from colleague.config.settings import McpServer
    from colleague.home import Home

PERSON_SECONDS = 300.0
_CONNECT_SECONDS = PERSON_SECONDS + 120.0
_LIST_SECONDS = 60.0


@dataclass(frozen=True)
class LoginScreen:
    """What a person sees: the page to visit with who asks, and notes. `listens` hears of the listener."""

    visit: Callable[[str, str], None]
    note: Callable[[str], None]
    listens: Callable[[RedirectListener], None] = lambda _: None


@dataclass(frozen=True)
class _Person:
    screen: LoginScreen
    listener: RedirectListener

    @property
    def redirect_uri(self) -> str:
        return self.listener.redirect_uri

    async def visit(self, address: str, issuer: str) -> None:
        [state] = parse_qs(urlsplit(address).query)["state"]
        self.listener.expect(state)
        self.screen.visit(address, issuer)

    async def came_back(self) -> AuthorizationCodeResult:
        return await self.listener.result(PERSON_SECONDS)


async def log_in(
    home: Home, name: str, server: McpServer, environ: Mapping[str, str], screen: LoginScreen
) -> int | None:
    """How many tools the server has now; None when it wants no login. Raises ServerDown, LoginTrouble."""
    launch = replace(_checked(name, server, environ), start_seconds=_CONNECT_SECONDS)
    folder = home.state / "mcp"
    store = LoginStore.of(folder, name)
    launch = replace(launch, redact=LoginRedactor(launch.redact, store))
    requests = OAuthRequests(launch.key, launch.url, server.oauth.allow_private)
    client = LoginClient.of(server.oauth, environ, launch.key)
    async with listening(server.oauth.callback_port, screen.note) as listener:
        screen.listens(listener)
        login = NewLogin(launch, client, store, requests, _Person(screen, listener))
        log = ServerLog(log_file(home.logs, name), launch.redact)
        connection = Connection(ConnectionContext(launch, log, PidFile(folder), login=login))
        try:
            await connection.open()
            tools = await connection.tools(_LIST_SECONDS)
        finally:
            await connection.close()
    return len(tools) if login.asked else None


def _checked(name: str, server: McpServer, environ: Mapping[str, str]) -> Launch:
    launch = prepare(name, server, environ)
    if launch.protocol == "stdio":
        raise UsageError(
            f"{name} is a local program and has no login", hint="give it its secrets with mcp.servers env"
        )
    if launch.sends_credentials:
        raise UsageError(
            f"{launch.key}.headers sends an Authorization of its own",
            hint="take it out of the settings to log in instead",
        )
    return launch


async def log_out(home: Home, name: str, server: McpServer | None, environ: Mapping[str, str]) -> str:
    """Forgets the login, and has its tokens revoked where that can be done; what came of it, in words.
    Empty when there was none."""
    store = LoginStore.of(home.state / "mcp", name)
    record = store.any()
    if not store.forget() or record is None or not record.access:
        return ""
    endpoint = record.metadata.get("revocation_endpoint")
    if not endpoint or server is None:
        return "its tokens are forgotten here; the authorization server was not asked to revoke them"
    try:
        launch = prepare(name, server, environ)
        requests = OAuthRequests(launch.key, launch.url, server.oauth.allow_private)
        status = await _revoke(requests, str(endpoint), record)
    except LoginTrouble as error:
        return f"its tokens are forgotten here, and could not be revoked: {error.message}"
    if status >= 400:
        return f"its tokens are forgotten here, and could not be revoked: HTTP {status}"
    return "its tokens are forgotten here and revoked"


async def _revoke(requests: OAuthRequests, endpoint: str, record: LoginRecord) -> int:
    """Revoking a refresh token ends the access tokens that came of it, too."""
    token = record.tokens.get("refresh_token") or record.access
    form = {"token": token, "client_id": str(record.client.get("client_id") or "")}
    if secret := record.client.get("client_secret"):
        form["client_secret"] = str(secret)
    return (await requests.send(httpx2.Request("POST", endpoint, data=form))).status_code
