"""The page over a real server: who gets in, what they see, what they decide."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from colleague.gateway.app import GUARDED, MCP, OPEN, PAGE
from colleague.gateway.page.fields import changed_value, readable_fields
from colleague.gateway.page.paths import PROGRAMS, top_of
from tests.integration.gateway.harness import BEARER, House, Running
from tests.integration.gateway.test_api import ask, asking  # noqa: F401 - a fixture

TOKEN = BEARER["Authorization"].removeprefix("Bearer ")
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NAVIGATION = '<nav aria-label="Main">'
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "javascript:alert(1)",
)


class Browser:
    """A person at the page, without scripts."""

    def __init__(self, gateway: Running) -> None:
        self.gateway = gateway
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        base = f"http://127.0.0.1:{self.gateway.port}"
        with httpx2.Client(base_url=base, cookies=self.cookies, timeout=120) as client:
            told = client.request(method, path, **more)
            self.cookies = dict(client.cookies)
        return told

    def log_in(self, token: str = TOKEN, after: str = "/") -> httpx2.Response:
        return self.request("POST", "/login", data={"token": token, "next": after})

    def get(self, path: str) -> httpx2.Response:
        return self.request("GET", path)

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> httpx2.Response:
        return self.request("POST", path, data={"form_key": self.form_key, **fields}, headers=headers)

    @property
    def form_key(self) -> str:
        found = re.search(r'name="form_key" value="([^"]+)"', self.get("/").text)
        assert found is not None
        return found[1]


@pytest.fixture
def browser(asking: Running) -> Browser:  # noqa: F811 - the fixture
    opened = Browser(asking)
    assert opened.log_in().status_code == 303
    return opened


class TestSigningIn:
    def test_nothing_is_shown_to_strangers(self, gateway: Running) -> None:
        stranger = Browser(gateway)
        paths = [
            (method, route.path) for router in PAGE for route in router.routes for method in route.methods
        ]
        open_to_all = ("/approve/{secret}", "/login", "/login/{secret}", "/static/{name}")
        for method, path in paths:
            if path in open_to_all:
                continue
            form = {"data": {"a": "b"}} if method == "POST" else {}
            told = stranger.request(method, path.replace("{id}", "abcd1234"), **form)
            assert (told.status_code, told.headers["location"].split("?")[0]) == (303, "/login"), path

    def test_a_wrong_token_is_refused_and_soon_has_to_wait(self, gateway: Running) -> None:
        stranger = Browser(gateway)
        told = [stranger.log_in("wrong") for _ in range(30)]
        assert told[0].status_code == 401
        assert told[-1].status_code == 429
        assert not stranger.cookies
        assert Browser(gateway).log_in().status_code == 303, "who has the token is never held up"

    def test_the_cookie_cannot_be_read_by_scripts(self, gateway: Running) -> None:
        cookie = Browser(gateway).log_in().headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie

    @pytest.mark.parametrize(
        "place", ["//evil.example/", "/\\evil.example", "https://evil.example", "javascript:x"]
    )
    def test_nobody_is_sent_elsewhere(self, gateway: Running, place: str) -> None:
        assert Browser(gateway).log_in(after=place).headers["location"] == "/"

    def test_signing_out_ends_the_cookie(self, browser: Browser) -> None:
        kept = browser.cookies
        assert browser.post("/logout").status_code == 303
        browser.cookies = kept
        assert browser.get("/").status_code == 303


class TestAnswers:
    def test_no_script_but_ours_can_run(self, browser: Browser) -> None:
        for path in ("/", "/runs", "/runs/nothing-here", "/login/wrong"):
            headers = browser.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert (headers["x-frame-options"], headers["referrer-policy"]) == ("DENY", "no-referrer")

    def test_pages_of_other_sites_send_nothing(self, browser: Browser) -> None:
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        ):
            told = browser.post("/logout", headers)
            assert told.status_code == 403

    def test_a_form_of_our_own_comes_without_an_origin(self, browser: Browser) -> None:
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        told = browser.post("/logout", headers)
        assert told.status_code == 303

    def test_an_address_that_is_not_there(self, browser: Browser) -> None:
        for path, said in (
            ("/runs/ffffffff", "there is no run"),
            ("/experts/a/b/c", "There is nothing at /experts/a/b/c"),
            ("/no&where?x=1", "There is nothing at /no&amp;where."),
        ):
            told = browser.request("GET", path, headers=HTML)
            assert told.status_code == 404
            assert said in told.text
            assert NAVIGATION in told.text
        stranger = Browser(browser.gateway)
        asked = stranger.request("GET", "/no&where?x=1", headers=HTML)
        assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=%2Fno%26where%3Fx%3D1")
        assert stranger.log_in(after="/no&where?x=1").headers["location"] == "/no&where?x=1"

    def test_what_is_refused_before_it_has_an_address_is_a_page(self, browser: Browser) -> None:
        told = browser.request("GET", "/", headers=HTML | {"Host": "evil.example"})
        assert (told.status_code, told.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "answers to localhost and 127.0.0.1 only" in told.text
        assert "/login" not in told.text
        told = browser.request("GET", "/inbox", headers=HTML | {"Origin": "https://evil.example"})
        assert (told.status_code, "pages of other sites" in told.text) == (403, True)
        told = browser.request("POST", "/login", headers=HTML, content=b"x" * (2 << 20))
        assert (told.status_code, "larger than" in told.text, "<h1>" in told.text) == (413, True, True)

    @pytest.mark.parametrize("accept", ["*/*", HTML["Accept"]])
    def test_programs_are_told_in_json(self, gateway: Running, accept: str) -> None:
        paths = ["/api", "/api/nothing", "/v1/nothing", "/hooks/nothing", "/hooks", "/mcp/no", "/metrics"]
        for path in paths + ["/nothing"] * (accept == "*/*"):
            told = gateway.client.get(path, headers={"Accept": accept})
            assert told.status_code in (401, 404), path
            assert "code" in told.json()["error"], path

    def test_every_address_of_a_program_asks_for_the_token(self) -> None:
        """What is not below these is asked for by people, who have no token."""
        routes = [route.path for router in (*OPEN, *GUARDED) for route in router.routes]
        assert {top_of(path) for path in (*routes, MCP)} <= PROGRAMS

    def test_files_of_the_page(self, gateway: Running) -> None:
        for name, kind in (
            ("page.css", "text/css"),
            ("page.js", "text/javascript"),
            ("icon.svg", "image/svg+xml"),
        ):
            told = Browser(gateway).get(f"/static/{name}")
            assert told.headers["content-type"].startswith(kind)
        assert Browser(gateway).get("/static/..%2f__init__.py").status_code == 404

    def test_files_are_kept_for_good_under_the_hash_of_what_they_contain(self, browser: Browser) -> None:
        found = re.search(r'href="(/static/page\.css\?v=\w+)"', browser.get("/").text)
        assert found is not None
        assert "immutable" in browser.get(found[1]).headers["cache-control"]
        for old in ("/static/page.css", "/static/page.css?v=0123456789abcdef"):
            assert browser.get(old).headers["cache-control"] == "no-cache"


class TestCompression:
    def test_pages_and_files_are_compressed_for_whoever_takes_it(self, browser: Browser) -> None:
        for path in ("/", "/static/page.css"):
            told = browser.get(path)
            assert told.headers["content-encoding"] == "gzip"
            assert int(told.headers["content-length"]) < len(told.content) * 2 / 3
            assert "Accept-Encoding" in told.headers["vary"]
            for refusing in ("identity", "gzip;q=0, br"):
                plain = browser.request("GET", path, headers={"Accept-Encoding": refusing})
                assert "content-encoding" not in plain.headers
                assert len(plain.content) > 1_000

    def test_a_link_of_another_site_learns_nothing_from_the_length(self, browser: Browser) -> None:
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        told = browser.request("GET", "/runs?q=guess", headers=link)
        assert told.status_code == 200
        assert "content-encoding" not in told.headers

    def test_the_key_of_a_form_never_looks_the_same(self, browser: Browser) -> None:
        first, second = browser.form_key, browser.form_key
        assert first != second
        for key in (first, second):
            told = browser.request("POST", "/inbox", data={"form_key": key, "decision": "approve"})
            assert "nothing is picked" in told.text

    def test_streams_come_as_they_are(self, browser: Browser) -> None:
        address = f"http://127.0.0.1:{browser.gateway.port}/news"
        with (
            httpx2.Client(cookies=browser.cookies, timeout=120) as client,
            client.stream("GET", address) as told,
        ):
            assert "content-encoding" not in told.headers
            assert b"event: changed" in next(told.iter_raw())


class TestDeciding:
    def test_a_yes_carries_who_gave_it(self, browser: Browser) -> None:
        question = ask(browser.gateway)
        shown = browser.get("/").text
        assert "bookkeeper asks before it does" in shown
        told = browser.post(f"/inbox/{question['id']}", decision="approve", digest=question["digest"])
        assert told.status_code == 303
        decided = browser.gateway.get(f"/api/approvals/{question['id']}").json()
        assert (decided["decision"], decided["decided_by"]) == ("approve", "operator")
        assert browser.gateway.ended(question["run_id"])["outcome"] == "completed"
        assert "approve by operator" in browser.get(f"/runs/{question['run_id']}").text

    def test_what_is_changed_first_runs_as_changed(self, browser: Browser) -> None:
        question = ask(browser.gateway)
        fields = {"field:line": "two", "digest": question["digest"]}
        assert browser.post(f"/inbox/{question['id']}", decision="approve", **fields).status_code == 303
        run = browser.gateway.ended(question["run_id"])
        calls = [each for each in run["calls"] if each["operation"] == "ledger.append"]
        assert calls[0]["arguments"] == {"line": "two"}

    @pytest.mark.parametrize("form_key", ["", "another"])
    def test_a_form_without_our_key_decides_nothing(self, browser: Browser, form_key: str) -> None:
        question = ask(browser.gateway)
        fields = {"form_key": form_key, "decision": "approve", "digest": question["digest"]}
        assert browser.request("POST", f"/inbox/{question['id']}", data=fields).status_code == 403
        assert browser.gateway.get(f"/api/approvals/{question['id']}").json()["status"] == "pending"

    def test_two_people_at_once(self, browser: Browser) -> None:
        question = ask(browser.gateway)
        assert (
            browser.post(
                f"/inbox/{question['id']}", decision="approve", digest=question["digest"]
            ).status_code
            == 303
        )
        late = browser.post(f"/inbox/{question['id']}", decision="reject", digest=question["digest"])
        assert late.status_code == 200
        assert "problem" in late.text
        assert browser.gateway.get(f"/api/approvals/{question['id']}").json()["decision"] == "approve"

    def test_another_digest_is_refused(self, browser: Browser) -> None:
        question = ask(browser.gateway)
        told = browser.post(f"/inbox/{question['id']}", decision="approve", digest="0" * 64)
        assert "problem" in told.text
        assert browser.gateway.get(f"/api/approvals/{question['id']}").json()["status"] == "pending"


class TestTextOfOthers:
    @pytest.mark.parametrize("text", PAYLOADS)
    def test_stays_text(self, house: House, text: str) -> None:
        house.play({"text": text})
        with house.open() as running:
            browser = Browser(running)
            browser.log_in()
            told = running.post("/api/experts/clerk/runs", {"task": text})
            run = running.ended(told.json()["run_id"])
            shown = browser.get(f"/runs/{run['id']}").text
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert "{{ 7 * 7 }}" in shown or text != "{{ 7 * 7 }}"


class TestFields:
    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            ("short", "line"),
            ("two\nlines", "text"),
            (["a", "b"], "list"),
            (["a\nb"], "data"),
            ([], "data"),
            (7, "number"),
            (True, "switch"),
            (None, "data"),
            ({"a": 1}, "data"),
        ],
    )
    def test_what_is_not_touched_stays_as_it_was(self, value: Any, kind: str) -> None:
        [field] = readable_fields({"name": value})
        assert field.kind == kind
        assert changed_value(value, field.text) == value


class TestPeople:
    @pytest.fixture
    def anna(self, asking: Running) -> Browser:  # noqa: F811 - the fixture
        """An approver of another expert alone, not signed in yet."""
        return Browser(asking)

    def link(self, gateway: Running, name: str, role: str, *experts: str) -> str:
        made = gateway.post("/api/people", {"name": name, "role": role, "experts": list(experts)})
        assert made.status_code == 200, made.text
        path: str = made.json()["path"]
        return path

    def test_a_link_signs_in_once_and_never_by_looking(self, anna: Browser) -> None:
        path = self.link(anna.gateway, "anna", "approver")
        for _ in range(2):
            assert "Sign in as anna" in anna.get(path).text
        assert not anna.cookies
        assert anna.request("POST", path).status_code == 303
        assert ">anna<" in anna.get("/").text
        assert Browser(anna.gateway).request("POST", path).status_code == 410

    def test_a_viewer_looks_and_does_not_decide(self, anna: Browser) -> None:
        anna.request("POST", self.link(anna.gateway, "anna", "viewer"))
        question = ask(anna.gateway)
        assert "look and not decide" in anna.get("/").text
        told = anna.post(f"/inbox/{question['id']}", decision="approve", digest=question["digest"])
        assert told.status_code == 403
        assert anna.gateway.get(f"/api/approvals/{question['id']}").json()["status"] == "pending"
        assert anna.post(f"/runs/{question['run_id']}", act="cancel").status_code == 403

    def test_an_approver_decides_only_for_their_experts(self, anna: Browser) -> None:
        anna.request("POST", self.link(anna.gateway, "anna", "approver", "another-expert"))
        question = ask(anna.gateway)
        fields = {"decision": "approve", "digest": question["digest"]}
        assert anna.post(f"/inbox/{question['id']}", **fields).status_code == 403
        self.link(anna.gateway, "anna", "approver", "bookkeeper")
        assert anna.post(f"/inbox/{question['id']}", **fields).status_code == 303
        decided = anna.gateway.get(f"/api/approvals/{question['id']}").json()
        assert (decided["decision"], decided["decided_by"]) == ("approve", "anna")

    def test_who_is_removed_is_signed_out(self, anna: Browser) -> None:
        anna.request("POST", self.link(anna.gateway, "anna", "admin"))
        assert anna.get("/").status_code == 200
        told = anna.gateway.client.request("DELETE", "/api/people/anna", headers=BEARER)
        assert told.status_code == 200
        assert anna.get("/").status_code == 303

    @pytest.mark.parametrize(
        ("name", "role"), [("operator", "admin"), ("../x", "viewer"), ("a" * 65, "viewer"), ("bob", "king")]
    )
    def test_names_and_roles_that_cannot_be(self, gateway: Running, name: str, role: str) -> None:
        assert gateway.post("/api/people", {"name": name, "role": role}).status_code in (400, 409, 422)
        assert gateway.get("/api/people").json() == []


class TestApprovalLink:
    def link(self, gateway: Running, approval: str) -> str:
        made = gateway.post(f"/api/approvals/{approval}/link", {"person": "anna"})
        assert made.status_code == 200, made.text
        path: str = made.json()["path"]
        return path

    def test_it_decides_once_and_never_by_looking(self, asking: Running) -> None:  # noqa: F811 - the fixture
        question = ask(asking)
        path, phone = self.link(asking, question["id"]), Browser(asking)
        assert "asks before it does" in phone.get(path).text
        assert asking.get(f"/api/approvals/{question['id']}").json()["status"] == "pending"
        fields = {"decision": "approve", "digest": question["digest"]}
        assert "Approved by anna" in phone.request("POST", path, data=fields).text
        assert asking.ended(question["run_id"])["outcome"] == "completed"
        assert phone.get(path).status_code == 410
        assert phone.request("POST", path, data=fields).status_code == 410
        assert phone.get("/").status_code == 303, "the link opens nothing else"

    def test_what_somebody_else_decided_is_shown(self, asking: Running) -> None:  # noqa: F811 - the fixture
        question = ask(asking)
        path = self.link(asking, question["id"])
        fields = {"decision": "reject", "digest": question["digest"], "by": "bert"}
        assert asking.post(f"/api/approvals/{question['id']}", fields).status_code == 200
        assert "Rejected by bert" in Browser(asking).get(path).text
