"""Where the browser comes back to after a login: one page on 127.0.0.1, for one login.

Any page can send a browser here, so only what carries the `state` of this login counts."""

from __future__ import annotations

import asyncio
import contextlib
import html
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from colleague.mcp.oauth_requests import LoginTrouble

PATH = "/callback"
_MOST_BYTES = 16_384
_READ_SECONDS = 10.0
_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
)
_PAGE = "<!doctype html><title>Colleague</title><p>{}</p>"


class RedirectListener:
    """Waits for the browser. `tell` hears of what came and does not count."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._state = secrets.token_urlsafe(32)
        self._result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self.port = 0

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def expect(self, state: str) -> None:
        """From now on an answer with this state counts."""
        self._state = state

    async def result(self, seconds: float) -> AuthorizationCodeResult:
        """Raises LoginTrouble when the person said no, or nobody came back."""
        try:
            async with asyncio.timeout(seconds):
                return await self._result
        except TimeoutError:
            raise LoginTrouble(
                f"nobody came back from the login within {seconds / 60:g} minutes", hint="log in again"
            ) from None

    def take(self, address: str) -> str:
        """An address that the browser was sent to; a sentence for whoever sent it."""
        try:
            found = parse_qs(urlsplit(address).query)
        except ValueError:
            found = {}
        if any(len(values) > 1 for values in found.values()):
            return self._ignored("a value is there twice")
        values = {key: value[0] for key, value in found.items()}
        if not secrets.compare_digest(values.get("state", "").encode(), self._state.encode()):
            return self._ignored("it does not belong to this login (another state)")
        if self._result.done():
            return "This login has ended."
        return self._end(values)

    def _end(self, values: dict[str, str]) -> str:
        if "error" in values:
            reason = ": ".join(values[key] for key in ("error", "error_description") if key in values)
            self._result.set_exception(LoginTrouble(f"the authorization server says no ({reason[:300]})"))
            return "The login was refused. The terminal says more."
        if not values.get("code"):
            return self._ignored("it has no code")
        self._result.set_result(
            AuthorizationCodeResult(code=values["code"], state=values["state"], iss=values.get("iss"))
        )
        return "You can close this page, and go on in the terminal."

    def _ignored(self, why: str) -> str:
        self._tell(f"an answer was ignored: {why}")
        return f"This answer is ignored: {why}."

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(_READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._answer(head.decode("latin-1"))
                page = _PAGE.format(html.escape(text)).encode()
                writer.write(_HEAD.format(status=status, length=len(page)).encode() + page)
                await writer.drain()
        writer.close()

    def _answer(self, head: str) -> tuple[str, str]:
        request, *lines = head.split("\r\n")
        method, _, rest = request.partition(" ")
        target = rest.rpartition(" ")[0]
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        if hosts not in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]):
            return "400 Bad Request", "This page has another address."
        if method != "GET" or urlsplit(target).path != PATH:
            return "404 Not Found", "There is nothing here."
        return "200 OK", self.take(target)


@asynccontextmanager
async def listening(port: int, tell: Callable[[str], None]) -> AsyncIterator[RedirectListener]:
    """Raises LoginTrouble when the port is taken."""
    listener = RedirectListener(tell)
    try:
        server = await asyncio.start_server(listener.serve, "127.0.0.1", port, limit=_MOST_BYTES)
    except OSError as error:
        raise LoginTrouble(
            f"port {port} on 127.0.0.1 cannot be listened on: {error.strerror}",
            hint="end what listens there, or choose another oauth.callbackPort",
        ) from None
    listener.port = server.sockets[0].getsockname()[1]
    async with server:
        yield listener
