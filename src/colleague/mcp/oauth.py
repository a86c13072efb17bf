"""Logins at MCP servers over HTTP: getting one with a person, and using and renewing it without.

The protocol is the library's. Ours is where its requests may go, and where its tokens are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import httpx2
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthClientProvider, OAuthContext
from mcp.client.auth.utils import extract_field_from_www_auth, issuers_match, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from colleague.config.secret import resolve
from colleague.errors import ColleagueError
from colleague.mcp.login_record import AS_PROGRAM, LoginRecord, LoginStore, address_of
from colleague.mcp.oauth_requests import LoginTrouble, OAuthRequests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from colleague.config.mcp import McpOAuth
    from colleague.mcp.launch import Launch

NEEDED = "needs a login"
ENDED = "needs a login: the last one has ended"
REFUSED = "needs a login: it refuses the token of the last one"
MORE_RIGHTS = "needs a login with more rights"
_POST = "client_secret_post"
_ADDRESS = "http://127.0.0.1/callback"


class _NoStorage:
    """The library's storage. What it would keep is written by us as one record."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class StoredLogin(httpx2.Auth):
    """Sends the token of the last login, and renews it. It asks nobody; `problem` says why somebody must."""

    requires_response_body = False

    def __init__(self, url: str, store: LoginStore, requests: OAuthRequests) -> None:
        self._url, self._store, self._requests = url, store, requests
        self.problem = ""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        record = await self._usable()
        _authorize(request, record)
        response = yield request
        if response.status_code == 401 and record and record.can_refresh:
            record = await self._renewed(record)
            if record is not None:
                _authorize(request, record)
                response = yield request
        await asyncio.to_thread(self._note, response, record)

    async def _usable(self) -> LoginRecord | None:
        """The record with a token that has not run out; None when there is none."""
        record = self._store.read(self._url)
        if record is None or not record.access:
            return None
        if not record.is_over or not record.can_refresh:
            return record
        return await self._renewed(record)

    async def _renewed(self, record: LoginRecord) -> LoginRecord | None:
        """In a thread that ends its work also when nobody waits: a new refresh token must not be lost."""
        return await asyncio.to_thread(self._renew, record)

    def _renew(self, old: LoginRecord) -> LoginRecord | None:
        with self._store.locked():
            now = self._store.read(self._url)
            if now is None or not now.access:
                return None
            if now.access != old.access:
                return now
            renewed = asyncio.run(_refresh(self._url, now, self._requests))
            self._store.write(renewed or replace(_without_tokens(now), problem=ENDED))
            return renewed

    def _note(self, response: httpx2.Response, record: LoginRecord | None) -> None:
        """Writes down that a login is needed, or no longer, for whoever lists the servers."""
        problem, scope = _problem(response, record)
        if problem is None:
            return
        kept = self._store.read(self._url) or LoginRecord(address_of(self._url))
        if problem == NEEDED and kept.problem:
            problem = kept.problem
        self.problem = problem
        if (kept.problem, kept.wanted_scope) == (problem, scope) or not (problem or kept.problem):
            return
        with self._store.locked():
            kept = self._store.read(self._url) or kept
            self._store.write(replace(kept, problem=problem, wanted_scope=scope))


def _problem(response: httpx2.Response, record: LoginRecord | None) -> tuple[str | None, str]:
    """Why a person has to log in; None when the response does not tell. And the rights wanted."""
    if response.status_code == 401:
        return (REFUSED if record else NEEDED), ""
    if response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
        return MORE_RIGHTS, extract_field_from_www_auth(response, "scope") or ""
    return (None if response.status_code >= 400 else ""), ""


def _authorize(request: httpx2.Request, record: LoginRecord | None) -> None:
    request.headers.pop("Authorization", None)
    if record is not None:
        request.headers["Authorization"] = f"Bearer {record.access}"


def _without_tokens(record: LoginRecord) -> LoginRecord:
    return replace(record, tokens={}, expires_at=None)


async def _refresh(url: str, record: LoginRecord, requests: OAuthRequests) -> LoginRecord | None:
    """None when the authorization server refuses. Raises LoginTrouble when it cannot be asked now."""
    provider = OAuthClientProvider(url, OAuthClientMetadata(redirect_uris=[AnyUrl(_ADDRESS)]), _NoStorage())
    _restore(provider.context, record)
    scope = record.tokens.get("scope")
    asked = _program_request(provider, scope) if record.is_programs else await provider._refresh_token()
    response = await requests.send(asked)
    if response.status_code >= 500 or response.status_code == 429:
        raise LoginTrouble(
            f"the authorization server answered HTTP {response.status_code}", hint="try again later"
        )
    if not await provider._handle_refresh_response(response):
        return None
    return _record(url, provider.context)


def _program_request(provider: OAuthClientProvider, scope: str | None) -> httpx2.Request:
    """Asks for a token for this program itself."""
    context = provider.context
    head = {"Content-Type": "application/x-www-form-urlencoded"}
    form, headers = context.prepare_token_auth({"grant_type": AS_PROGRAM}, head)
    if context.should_include_resource_param(context.protocol_version):
        form["resource"] = context.get_resource_url()
    if scope:
        form["scope"] = scope
    return httpx2.Request("POST", provider._get_token_endpoint(), data=form, headers=headers)


class PersonAtLogin(Protocol):
    """Whoever logs in."""

    @property
    def redirect_uri(self) -> str:
        """Where the authorization server sends the browser back to."""
        ...

    async def visit(self, address: str, issuer: str) -> None:
        """Shows the page of the authorization server."""
        ...

    async def came_back(self) -> AuthorizationCodeResult:
        """What the browser brought back. Raises LoginTrouble."""
        ...


@dataclass(frozen=True)
class LoginClient:
    """What the settings say of us at the authorization server."""

    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    issuer: str = ""
    metadata_url: str = ""
    as_program: bool = False

    @classmethod
    def of(cls, oauth: McpOAuth, environ: Mapping[str, str], key: str) -> LoginClient:
        """Raises ConfigError for a variable that is not set."""
        secret = (
            resolve(oauth.client_secret, environ, key=f"{key}.oauth.clientSecret")
            if oauth.client_secret
            else ""
        )
        client_id = resolve(oauth.client_id or "", environ, key=f"{key}.oauth.clientId")
        return cls(
            client_id,
            secret,
            oauth.scope or "",
            oauth.issuer or "",
            oauth.client_metadata_url or "",
            oauth.grant == AS_PROGRAM,
        )

    def known(self, redirect_uri: str) -> OAuthClientInformationFull | None:
        """None when we have to register."""
        if not self.client_id:
            return None
        found = OAuthClientInformationFull(
            client_id=self.client_id,
            client_secret=self.client_secret or None,
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method="client_secret_basic" if self.client_secret else "none",
        )
        return found.model_copy(update={"grant_types": [AS_PROGRAM]}) if self.as_program else found


class NewLogin(OAuthClientProvider):
    """Asks a person to log in as soon as the server wants it, or logs in as this program. `asked` says
    whether it did."""

    def __init__(
        self,
        launch: Launch,
        client: LoginClient,
        store: LoginStore,
        requests: OAuthRequests,
        person: PersonAtLogin,
    ) -> None:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(person.redirect_uri)],
            client_name="Colleague",
        )
        super().__init__(
            launch.url, metadata, _NoStorage(), self._visit, person.came_back, client.metadata_url or None
        )
        self._client, self._store, self._requests, self._person = client, store, requests, person
        self._before = store.read(launch.url)
        self.context.client_info = client.known(person.redirect_uri)
        self.asked, self.problem = False, ""
        self._failure: Exception | None = None

    async def _initialize(self) -> None:
        """A login begins anew: nothing of the last one is used."""
        self._initialized = True

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The library's flow, once; only the request itself goes to the MCP server by the client."""
        if self._failure is not None:
            raise self._failure
        if self.problem:
            yield request
            return
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = (yield outgoing) if outgoing is request else await self._requests.send(outgoing)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            if response.status_code == 401:
                self.problem = REFUSED
        except (OAuthFlowError, ColleagueError) as error:
            self._failure = error
            raise
        finally:
            await flow.aclose()

    def _select_authorization_server(self, advertised: list[str]) -> str:
        wanted = self._client.issuer
        if not wanted:
            return super()._select_authorization_server(advertised)
        for each in advertised:
            if issuers_match(each, wanted):
                return each
        raise OAuthFlowError(f"it sends the login to {', '.join(advertised)}, and the settings say {wanted}")

    async def _perform_authorization(self) -> httpx2.Request:
        self._check_issuer()
        self._check_redirect()
        if self._client.client_secret:
            self._choose_method()
        scope = self._client.scope or self.context.client_metadata.scope
        if self._before is not None:
            more = union_scopes(self._before.tokens.get("scope"), self._before.wanted_scope)
            scope = union_scopes(scope, more if self._before.wanted_scope else None)
        self.context.client_metadata.scope = scope
        if self._client.as_program:
            self.asked = True
            return _program_request(self, scope)
        return await super()._perform_authorization()

    def _check_issuer(self) -> None:
        wanted, found = self._client.issuer, self.context.oauth_metadata
        if wanted and (found is None or not issuers_match(str(found.issuer), wanted)):
            raise OAuthFlowError(f"the login is not at {wanted}, as the settings say")

    def _check_redirect(self) -> None:
        """A registration may change what was asked for; a foreign port would get the code."""
        client = self.context.client_info
        given = [str(each) for each in (client.redirect_uris if client else None) or ()]
        if given and self._person.redirect_uri not in given:
            raise OAuthFlowError(
                f"it registered us for {given[0]}, which is not where we listen ({self._person.redirect_uri})"
            )

    def _choose_method(self) -> None:
        known = (
            self.context.oauth_metadata and self.context.oauth_metadata.token_endpoint_auth_methods_supported
        )
        if self.context.client_info and known and "client_secret_basic" not in known:
            self.context.client_info.token_endpoint_auth_method = _POST

    async def _visit(self, address: str) -> None:
        self.asked = True
        await self._requests.check(address)
        found = self.context.oauth_metadata
        await self._person.visit(address, str(found.issuer) if found else "")

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        record = _record(self.context.server_url, self.context)
        with self._store.locked():
            self._store.write(record)


def _record(url: str, context: OAuthContext) -> LoginRecord:
    return LoginRecord(
        address=address_of(url),
        tokens=_document(context.current_tokens),
        expires_at=context.token_expiry_time,
        client=_document(context.client_info),
        metadata=_document(context.oauth_metadata),
        resource=_document(context.protected_resource_metadata),
    )


def _document(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True) if model else {}
    return found


def _restore(context: OAuthContext, record: LoginRecord) -> None:
    """What the library forgets between processes: without it a renewal would go to the wrong place."""
    context.current_tokens = OAuthToken.model_validate(record.tokens)
    context.client_info = OAuthClientInformationFull.model_validate(record.client)
    if record.metadata:
        context.oauth_metadata = OAuthMetadata.model_validate(record.metadata)
    if record.resource:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(record.resource)
