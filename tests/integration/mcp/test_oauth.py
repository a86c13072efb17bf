"""Logins at servers over HTTP, against a real authorization server, and against ones that misbehave."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.mcp.errors import LoginNeeded, ServerDown
from colleague.mcp.login import LoginScreen, log_in, log_out
from colleague.mcp.login_record import LoginStore
from colleague.mcp.servers import Servers
from tests.integration.mcp.oauth_site import Site, running

COMMAND = "colleague mcp login desk"


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as found:
        yield found


def follow(address: str) -> None:
    """A browser of a person who agrees to everything."""
    httpx2.get(address, follow_redirects=True, timeout=60)


@dataclass
class Office:
    """A home with one server, and the person at it."""

    home: Home
    site: Site
    oauth: dict[str, Any] = field(default_factory=dict)
    browse: Callable[[str], None] = follow
    visited: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        server = {"url": f"{self.site.url}/mcp", "oauth": self.oauth}
        return Settings.model_validate({"mcp": {"servers": {"desk": server}}})

    @property
    def store(self) -> LoginStore:
        return LoginStore.of(self.home.state / "mcp", "desk")

    def servers(self) -> Servers:
        return Servers.of(self.home, self.settings, {})

    async def log_in(self) -> int | None:
        return await log_in(
            self.home,
            "desk",
            self.settings.mcp.servers["desk"],
            {},
            LoginScreen(self._visit, self.notes.append),
        )

    def _visit(self, address: str, issuer: str) -> None:
        self.visited.append(address)
        threading.Thread(target=self.browse, args=(address,), daemon=True).start()


@pytest.fixture
def office(tmp_path: Path, site: Site) -> Office:
    return Office(Home(tmp_path), site)


def run(work: Any) -> Any:
    return asyncio.run(work)


async def echo(servers: Servers, text: str = "hello") -> str:
    return (await servers.call("desk", "echo", {"text": text}, key=text)).text


def test_a_login_is_kept_and_used_and_forgotten(office: Office) -> None:
    async def work() -> None:
        async with office.servers() as servers:
            with pytest.raises(LoginNeeded, match=r"needs a login") as needed:
                await servers.tools("desk")
            assert COMMAND in needed.value.hint
            [status] = await servers.status()
            assert status.state == "needs_login"
            assert await office.log_in() == 1
            assert await echo(servers) == "hello"
        async with office.servers() as servers:
            assert await echo(servers, "again") == "again"
        server = office.settings.mcp.servers["desk"]
        assert "revoked" in await log_out(office.home, "desk", server, {})
        async with office.servers() as servers:
            with pytest.raises(LoginNeeded):
                await servers.tools("desk")

    run(work())
    [asked] = [parse_qs(urlsplit(each).query) for each in office.visited]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["resource"] == [f"{office.site.url}/mcp"]


def test_only_the_owner_can_read_it_and_nothing_shows_it(office: Office) -> None:
    run(office.log_in())
    record = office.store.any()
    assert record
    assert office.store.file.stat().st_mode & 0o777 == 0o600
    assert record.access not in repr(record)
    for each in office.home.logs.rglob("*"):
        assert "access-token" not in each.read_text()


def test_a_server_that_wants_no_login_gets_none(office: Office) -> None:
    office.site.open = True
    assert run(office.log_in()) is None
    assert office.store.any() is None


def test_a_token_that_ran_out_is_renewed_once_by_many(office: Office) -> None:
    office.site.lifetime = 1

    async def work() -> None:
        await office.log_in()
        office.site.lifetime = 3600
        office.site.end_tokens()
        async with office.servers() as one, office.servers() as two:
            assert await asyncio.gather(echo(one, "a"), echo(two, "b"), echo(one, "c")) == ["a", "b", "c"]

    run(work())
    assert [each["grant_type"] for each in office.site.forms] == ["authorization_code", "refresh_token"]
    assert office.site.forms[1]["resource"] == f"{office.site.url}/mcp"


def test_a_token_that_the_server_ended_early_is_renewed(office: Office) -> None:
    async def work() -> None:
        await office.log_in()
        async with office.servers() as servers:
            await echo(servers)
            office.site.end_tokens()
            assert await echo(servers, "later") == "later"

    run(work())


def test_a_refused_renewal_needs_a_person_and_is_not_repeated(office: Office) -> None:
    async def work() -> None:
        await office.log_in()
        office.site.end_tokens()
        office.site.refresh_tokens.clear()
        async with office.servers() as servers:
            for _ in range(5):
                with pytest.raises(LoginNeeded, match=r"the last one has ended") as needed:
                    await servers.tools("desk")
                assert COMMAND in needed.value.hint
            tokens, asked = office.site.requests("/token"), office.site.requests("/mcp")
            with pytest.raises(LoginNeeded):
                await servers.tools("desk")
            assert (office.site.requests("/token"), office.site.requests("/mcp")) == (tokens, asked)
            assert tokens == 2
            await office.log_in()
            assert await echo(servers) == "hello"

    run(work())


def test_an_authorization_server_that_is_down_loses_no_login(office: Office) -> None:
    office.site.lifetime = 1

    async def work() -> None:
        await office.log_in()
        office.site.token_status = 503
        async with office.servers() as servers:
            with pytest.raises(ServerDown, match=r"HTTP 503") as down:
                await servers.tools("desk")
            assert not isinstance(down.value, LoginNeeded)
        office.site.token_status = 200
        async with office.servers() as servers:
            assert await echo(servers) == "hello"

    run(work())


def test_another_address_under_the_same_name_does_not_get_the_token(office: Office) -> None:
    run(office.log_in())
    with running(Site()) as other:
        other.valid = set(office.site.valid)
        office.site = other

        async def work() -> None:
            async with office.servers() as servers:
                with pytest.raises(LoginNeeded):
                    await servers.tools("desk")

        run(work())


def test_a_server_that_refuses_for_ever_is_given_up(office: Office) -> None:
    office.site.refuses_all = True

    async def work() -> None:
        with pytest.raises(LoginNeeded, match=r"refuses the token"):
            await office.log_in()
        before = office.site.requests("/mcp")
        async with office.servers() as servers:
            for _ in range(10):
                with pytest.raises(LoginNeeded):
                    await servers.tools("desk")
        assert office.site.requests("/mcp") - before < 10

    run(work())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"issuer": "https://evil.example"}, r"issuer mismatch"),
        ({"answered_issuer": "https://evil.example"}, r"iss mismatch"),
        ({"registered_uri": "http://127.0.0.1:1/callback"}, r"not where we listen"),
        ({"resource_metadata": "http://169.254.169.254/latest/meta-data"}, r"not https"),
        ({"resource_metadata": "https://169.254.169.254/latest/meta-data"}, r"no public address"),
        ({"authorization_server": "https://127.0.0.1:1"}, r"no public address"),
        ({"authorization_server": "https://[::ffff:10.0.0.1]"}, r"no public address"),
        ({"changes": {"token_endpoint": "https://192.168.0.1/token"}}, r"no public address"),
        ({"changes": {"authorization_endpoint": "https://10.0.0.1/login"}}, r"no public address"),
        ({"changes": {"authorization_endpoint": "file:///etc/passwd"}}, r"could not be logged in"),
    ],
)
def test_what_a_server_says_about_its_login_is_not_believed(
    office: Office, change: dict[str, Any], says: str
) -> None:
    for name, value in change.items():
        setattr(office.site, name, value)
    with pytest.raises(ServerDown, match=says):
        run(office.log_in())
    record = office.store.any()
    assert record is None or not record.access


def test_an_answer_with_another_state_is_ignored(office: Office) -> None:
    def browse(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        assert "ignored" in httpx2.get(f"{back}?code=stolen&state=guessed", timeout=60).text
        assert httpx2.get(f"{back}?code=x", headers={"Host": "evil.example"}, timeout=60).status_code == 400
        assert httpx2.get(back.replace("callback", "other"), timeout=60).status_code == 404
        follow(address)

    office.browse = browse
    assert run(office.log_in()) == 1
    assert any("another state" in each for each in office.notes)
    assert [each["code"] for each in office.site.forms] == ["code-0"]


def test_a_person_who_says_no(office: Office) -> None:
    def browse(address: str) -> None:
        asked = parse_qs(urlsplit(address).query)
        httpx2.get(f"{asked['redirect_uri'][0]}?error=access_denied&state={asked['state'][0]}", timeout=60)

    office.browse = browse
    with pytest.raises(ColleagueError, match=r"access_denied"):
        run(office.log_in())


def test_a_configured_client_goes_to_its_own_issuer_only(office: Office) -> None:
    office.oauth = {"clientId": "ours", "clientSecret": "ours-secret", "issuer": "https://login.example"}
    with pytest.raises(ServerDown, match=r"the settings say https://login.example"):
        run(office.log_in())
    assert office.site.requests("/token") == 0
    office.oauth["issuer"] = office.site.url
    assert run(office.log_in()) == 1
    assert office.site.requests("/register") == 0


def test_a_program_logs_in_as_itself_and_again_when_its_token_ran_out(office: Office) -> None:
    """After the first login nobody is needed; a refused one is said like any other."""
    known = {"clientId": "ours", "clientSecret": "ours-secret", "issuer": office.site.url}
    office.oauth = known | {"grant": "client_credentials", "scope": "read"}
    with pytest.raises(ServerDown, match=r"invalid_grant"):
        run(office.log_in())
    office.site.trusts_programs = True

    async def work() -> None:
        assert await office.log_in() == 1
        async with office.servers() as servers:
            office.site.end_tokens()
            assert await echo(servers) == "hello"
            office.site.end_tokens()
            office.site.trusts_programs = False
            with pytest.raises(LoginNeeded, match=r"the last one has ended"):
                await echo(servers, "again")

    run(work())
    assert office.visited == []
    assert {form["grant_type"] for form in office.site.forms} == {"client_credentials"}
    assert {form["scope"] for form in office.site.forms} == {"read"}
    assert office.site.requests("/register") == 0


def test_more_rights_are_asked_for_at_the_next_login(office: Office) -> None:
    async def work() -> None:
        await office.log_in()
        office.site.needed_scope = "write"
        async with office.servers() as servers:
            with pytest.raises(LoginNeeded, match=r"more rights"):
                await echo(servers)
            office.site.needed_scope = ""
            await office.log_in()
            assert await echo(servers) == "hello"

    run(work())
    assert parse_qs(urlsplit(office.visited[1]).query)["scope"] == ["read write"]


def test_a_spoilt_record_is_no_login(office: Office) -> None:
    run(office.log_in())
    office.store.file.write_text(json.dumps([1, 2]))
    assert office.store.any() is None
