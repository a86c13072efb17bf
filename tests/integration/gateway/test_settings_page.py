"""The overview, the settings and the audit log of the page, over one real gateway."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from colleague.runtime.remote_service import RemoteService
from colleague.runtime.requests import AuditQuery
from tests.integration.gateway.harness import ENVIRON, House, Running
from tests.integration.gateway.test_api import ask, hire_bookkeeper
from tests.integration.gateway.test_page import PAYLOADS, Browser

SCREENS = (
    *("/overview", "/overview?days=30", "/overview/decisions?from_seconds=60&to_seconds=600"),
    *("/settings", "/settings/models", "/settings/servers", "/settings/servers/log?name=ledger"),
    *("/settings/channels", "/settings/people", "/settings/audit"),
)


class Person(Browser):
    """Signed in once, so the key of their forms stays the same."""

    @cached_property
    def form_key(self) -> str:  # type: ignore[override]
        return super().form_key


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    house = House(tmp_path_factory.mktemp("settings") / "home").furnish()
    hire_bookkeeper(house)
    house.play({"text": "ready <script>alert(1)</script>"})
    house.configure(
        agents={"defaults": {"model": {"primary": "script/play.yaml"}}},
        channels={"<b>slack</b>": {"botToken": "never shown"}},
        mcp={"servers": house.settings["mcp"]["servers"] | {"gone": {"command": "/nowhere/<i>server</i>"}}},
    )
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def admin(asking: Running) -> Browser:
    opened = Person(asking)
    assert opened.log_in().status_code == 303
    return opened


@pytest.fixture(scope="module")
def viewer(asking: Running) -> Browser:
    made = asking.post("/api/people", {"name": "viola", "role": "viewer"}).json()
    opened = Person(asking)
    assert opened.request("POST", made["path"]).status_code == 303
    return opened


def entries(gateway: Running, **asked: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = gateway.get("/api/audit", params=asked).json()["entries"]
    return found


def accepted_before(gateway: Running, tool: str, text: str) -> None:
    """As if a person had accepted the tool with another description."""
    file = gateway.home.state / "mcp" / "tools" / "ledger.json"
    record = json.loads(file.read_text())
    record["accepted"][tool] |= {"description": "another", "text": text}
    file.write_text(json.dumps(record))


def decided(browser: Browser, decision: str, note: str = "") -> dict[str, Any]:
    question = ask(browser.gateway)
    fields = {"decision": decision, "digest": question["digest"], "note": note}
    assert browser.post(f"/inbox/{question['id']}", **fields).status_code == 303
    browser.gateway.ended(question["run_id"])
    return question


class TestEverybodyLooks:
    @pytest.mark.parametrize("path", SCREENS)
    def test_a_viewer_sees_every_screen_and_no_form_that_changes(self, viewer: Browser, path: str) -> None:
        told = viewer.get(path)
        assert told.status_code == 200, path
        assert "script-src 'self'" in told.headers["content-security-policy"]
        assert "<style" not in told.text
        assert " style=" not in told.text
        changing = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]+)"', told.text)
        assert changing == ["/logout"]

    def test_a_viewer_changes_nothing(self, viewer: Browser) -> None:
        before = viewer.gateway.get("/api/people").json()
        for path, fields in (
            ("/settings", {}),
            ("/settings/models", {"model": ""}),
            ("/settings/servers", {"server": "ledger", "act": "probe"}),
            ("/settings/servers", {"server": "ledger", "act": "accept", "digest": "x"}),
            ("/settings/servers", {"server": "ledger", "act": "accept-tools", "digest": "x"}),
            ("/settings/people", {"act": "add", "name": "mallory", "role": "admin"}),
            ("/settings/people", {"act": "remove", "name": "viola"}),
            ("/settings/people", {"act": "sign-out", "name": "operator"}),
        ):
            assert viewer.post(path, **fields).status_code == 403, path
        assert viewer.gateway.get("/api/people").json() == before

    def test_without_our_key_nothing_changes(self, admin: Browser) -> None:
        fields = {"act": "add", "name": "mallory", "role": "admin", "form_key": "another"}
        assert admin.request("POST", "/settings/people", data=fields).status_code == 403
        assert "mallory" not in admin.get("/settings/people").text


class TestOverview:
    def test_each_chart_leads_to_its_rows(self, admin: Browser) -> None:
        question = decided(admin, "approve")
        shown = admin.get("/overview").text
        links = [each.replace("&amp;", "&") for each in re.findall(r'<td><a href="([^"]+)"', shown)]
        assert len(links) > 1
        short = question["run_id"][-8:]
        completed = next(each for each in links if "status=completed" in each)
        assert short in admin.get(completed).text
        decisions = next(each for each in links if each.startswith("/overview/decisions"))
        assert short in admin.get(decisions).text
        assert short not in admin.get(completed.replace("completed", "failed")).text

    def test_a_chart_has_a_title_a_description_and_a_table(self, admin: Browser) -> None:
        decided(admin, "approve")
        shown = admin.get("/overview").text
        drawn = re.findall(r'<svg viewBox[^>]*role="group" aria-labelledby="([^"]+)"', shown)
        assert "outcomes-title" in drawn
        for name in drawn:
            assert f'<title id="{name}">' in shown
            assert f'<desc id="{name.replace("-title", "-about")}">' in shown
        assert shown.count('<table class="numbers">') == len(drawn)

    def test_a_day_that_is_over_has_other_runs(self, admin: Browser) -> None:
        told = admin.get("/runs?until=2020-01-01")
        assert "There are no such runs" in told.text
        assert "is no time to begin at" in admin.get("/runs?until=soon").text

    @pytest.mark.parametrize("days", ["0", "32", "x"])
    def test_days_that_cannot_be_shown(self, admin: Browser, days: str) -> None:
        assert admin.get(f"/overview?days={days}").status_code == 422


class TestModelsAndServers:
    def test_a_model_is_asked(self, admin: Browser) -> None:
        shown = admin.post("/settings/models", model="script/play.yaml").text
        assert "answered in" in shown
        assert "&lt;script&gt;alert(1)" in shown
        assert "<script>alert" not in shown

    def test_a_model_that_is_not_there_is_said(self, admin: Browser) -> None:
        for text in PAYLOADS:
            shown = admin.post("/settings/models", model=text).text
            assert 'class="problem"' in shown
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown

    def test_a_server_is_tried(self, admin: Browser) -> None:
        shown = admin.post("/settings/servers", server="ledger", act="probe").text
        assert re.search(r"ledger answered in .* with \d+ tools?", shown)
        assert "<code>append</code>" in shown

    def test_a_server_that_cannot_start(self, admin: Browser) -> None:
        shown = admin.post("/settings/servers", server="gone", act="probe").text
        assert 'class="problem"' in shown
        assert "<i>server" not in shown
        assert admin.get("/settings/servers/log?name=nobody").status_code == 404

    def test_tools_that_changed_are_shown_and_accepted_as_they_were_seen(
        self, admin: Browser, viewer: Browser
    ) -> None:
        admin.post("/settings/servers", server="ledger", act="probe")
        accepted_before(admin.gateway, "append", "Writes <script>alert(3)</script> a line.")
        shown = viewer.get("/settings/servers").text
        assert "&#39;append&#39; has changed: its description" in shown
        assert "-Writes &lt;script&gt;alert(3)&lt;/script&gt; a line." in shown
        assert "accept-tools" not in shown
        [digest] = re.findall(r'name="digest" value="([^"]+)"', admin.get("/settings/servers").text)
        wrong = admin.post("/settings/servers", server="ledger", act="accept-tools", digest="another").text
        assert "are not the ones you looked at" in wrong
        told = admin.post("/settings/servers", server="ledger", act="accept-tools", digest=digest)
        assert told.status_code == 303
        assert "has changed" not in admin.get("/settings/servers").text
        [entry] = entries(admin.gateway, action="server.accept-tools")
        assert (entry["who"], entry["source"], entry["subject"]) == ("operator", "page", "ledger")
        assert entry["detail"]["changes"] == ["'append' has changed: its description"]

    def test_a_form_of_servers_that_changes_nothing(self, admin: Browser) -> None:
        for fields in ({"act": "accept-tools"}, {"act": "accept"}, {"act": "restart", "digest": "x"}):
            assert admin.post("/settings/servers", server="ledger", **fields).status_code == 422

    def test_what_nothing_connects_to_is_said(self, admin: Browser) -> None:
        shown = admin.get("/settings/channels").text
        assert "not connected" in shown
        assert "<b>slack</b>" not in shown
        assert "has no effect: no plugin here has this channel" in admin.get("/settings").text

    def test_doctor_says_what_is_wrong_and_the_cure(self, admin: Browser) -> None:
        shown = admin.post("/settings").text
        assert re.search(r'class="error"><b>MCP server gone</b>', shown)
        assert "Look around again" in shown
        assert "never shown" not in shown

    def test_what_stops_doctor_is_said(self, admin: Browser) -> None:
        variables = admin.gateway.home.env_file
        variables.write_text("ONE=1\nno name\n")
        try:
            shown = admin.post("/settings").text
        finally:
            variables.unlink()
        assert f"{variables}:2" in shown


class TestPeople:
    def test_from_a_link_to_nobody(self, admin: Browser) -> None:
        shown = admin.post("/settings/people", act="add", name="paul", role="approver", experts="a, b").text
        assert "decides for a, b" in shown
        found = re.search(r"<code>http://127\.0\.0\.1:\d+(/login/[^<]+)</code>", shown)
        assert found is not None
        assert found[1] not in admin.get("/settings/people").text, "a link is shown once"
        paul = Browser(admin.gateway)
        assert paul.request("POST", found[1]).status_code == 303
        assert "1 browser signed in" in admin.get("/settings/people").text
        assert admin.post("/settings/people", act="sign-out", name="paul").status_code == 303
        assert paul.get("/").status_code == 303
        assert admin.post("/settings/people", act="remove", name="paul").status_code == 303
        assert [each["action"] for each in entries(admin.gateway, text="paul")] == [
            "person.remove",
            "person.sign-out",
            "person.sign-in",
            "person.add",
        ]

    @pytest.mark.parametrize("name", [*PAYLOADS, "operator", ""])
    def test_a_name_that_cannot_be_stays_in_the_form(self, admin: Browser, name: str) -> None:
        shown = admin.post("/settings/people", act="add", name=name, role="viewer").text
        assert 'class="problem"' in shown
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown

    def test_a_form_that_changes_nothing(self, admin: Browser) -> None:
        assert admin.post("/settings/people", act="promote", name="viola").status_code == 422


class TestAudit:
    def test_a_decision_names_who_and_from_where(self, admin: Browser) -> None:
        question = decided(admin, "reject", note="<script>alert(2)</script>")
        [entry] = entries(admin.gateway, text=question["id"])
        assert (entry["who"], entry["source"], entry["address"]) == ("operator", "page", "127.0.0.1")
        assert (entry["action"], entry["expert"]) == ("approval.reject", "bookkeeper")
        assert entry["run_id"] == question["run_id"]
        assert entry["detail"]["operation"] == "ledger.append"
        assert "line" not in json.dumps(entry["detail"]), "arguments may be private"
        shown = admin.get("/settings/audit?text=alert(2)").text
        assert "&lt;script&gt;alert(2)" in shown
        assert "<script>alert" not in shown

    def test_over_the_api_and_by_a_link(self, asking: Running) -> None:
        question = ask(asking)
        fields = {"decision": "approve", "digest": question["digest"], "by": "bert"}
        assert asking.post(f"/api/approvals/{question['id']}", fields).status_code == 200
        assert [(e["who"], e["source"]) for e in entries(asking, text=question["id"])] == [("bert", "api")]
        question = ask(asking)
        path = asking.post(f"/api/approvals/{question['id']}/link", {"person": "carla"}).json()["path"]
        fields = {"decision": "approve", "digest": question["digest"]}
        Browser(asking).request("POST", path, data=fields)
        said = [(e["action"], e["who"], e["source"]) for e in entries(asking, text=question["id"])]
        assert said == [("approval.approve", "carla", "link"), ("approval.link", "api", "api")]
        assert path.rpartition("/")[2] not in json.dumps(entries(asking))

    def test_what_does_not_count_is_no_entry(self, admin: Browser) -> None:
        question = decided(admin, "approve")
        fields = {"decision": "reject", "digest": question["digest"]}
        assert "problem" in admin.post(f"/inbox/{question['id']}", **fields).text
        assert [e["action"] for e in entries(admin.gateway, text=question["id"])] == ["approval.approve"]

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({"action": "trigger"}, True),
            ({"action": "trigger.pause", "expert": "clerk"}, True),
            ({"action": "trigger.pause", "expert": "bookkeeper"}, False),
            ({"action": "trig"}, False),
            ({"text": "ORDER pause"}, True),
            ({"text": "pause nothing"}, False),
            ({"text": "%"}, False),
            ({"who": "dora", "since": "1h"}, True),
            ({"who": "dora", "until": "1h"}, False),
        ],
    )
    def test_filters(self, asking: Running, asked: dict[str, str], found: bool) -> None:
        asking.post("/api/triggers/clerk/order/pause", {"by": "dora"})
        asking.post("/api/triggers/clerk/order/resume")
        there = [each for each in entries(asking, **asked) if each["action"] == "trigger.pause"]
        assert bool(there) is found

    def test_pages_and_files(self, admin: Browser) -> None:
        for number in range(60):
            admin.gateway.post("/api/people", {"name": f"p{number}", "role": "viewer"})
        admin.gateway.client.headers["X-Colleague-By"] = "%3DHYPERLINK(1)"
        admin.gateway.post("/api/people", {"name": "formula", "role": "viewer"})
        del admin.gateway.client.headers["X-Colleague-By"]
        first = admin.get("/settings/audit?action=person").text
        older = re.search(r'href="(/settings/audit\?[^"]*after=[^"]+)"', first)
        assert older is not None
        assert admin.get(older[1].replace("&amp;", "&")).status_code == 200
        whole = json.loads(admin.get("/settings/audit.json?action=person").text)
        assert len(whole) > 60
        told = admin.get("/settings/audit.csv?action=person")
        assert told.headers["content-disposition"] == 'attachment; filename="audit.csv"'
        rows = list(csv.DictReader(io.StringIO(told.text)))
        assert [row["id"] for row in rows] == [each["id"] for each in whole]
        assert rows[0]["who"] == "'=HYPERLINK(1)", "a spreadsheet must not compute it"
        assert (whole[0]["who"], whole[0]["source"]) == ("=HYPERLINK(1)", "command")

    @pytest.mark.parametrize("text", PAYLOADS)
    def test_filters_stay_text(self, admin: Browser, text: str) -> None:
        for name in ("text", "who", "action", "expert", "since", "until"):
            shown = admin.request("GET", "/settings/audit", params={name: text}).text
            assert "<script>alert" not in shown
            assert "<img src=x" not in shown

    def test_a_filter_that_makes_no_sense(self, admin: Browser) -> None:
        assert "is no time to begin at" in admin.get("/settings/audit?since=soon").text
        assert admin.get("/settings/audit.csv?since=soon").status_code == 400


class TestDocumentation:
    def test_every_page_and_search(self, viewer: Browser) -> None:
        for path in ("/docs", "/docs/concepts", "/docs/reference/settings"):
            told = viewer.get(path)
            assert told.status_code == 200, path
            assert "unsafe" not in told.headers["content-security-policy"]
            assert " style=" not in told.text
        assert 'href="/docs/concepts#' in viewer.get("/docs?q=dead+letter").text
        for path in ("/docs/nothing", "/docs/..%2f..%2fpyproject.toml", "/docs/README"):
            assert viewer.get(path).status_code == 404, path

    @pytest.mark.parametrize("text", PAYLOADS)
    def test_what_is_looked_for_stays_text(self, viewer: Browser, text: str) -> None:
        shown = viewer.request("GET", "/docs", params={"q": text}).text
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


class TestFromAnotherProcess:
    def test_the_same_answers(self, admin: Browser) -> None:
        """What the page shows, through the service that commands use."""

        async def look() -> None:
            service = RemoteService(admin.gateway.home, ENVIRON)
            overview = await service.overview(7)
            assert len(overview["days"]) == 7
            assert sum(each["runs"] for each in overview["outcomes"]) > 0
            assert await service.decisions(7)
            assert {each["name"] for each in await service.mcp_servers()} == {"ledger", "gone"}
            assert (await service.probe_server("ledger"))["ok"]
            accepted_before(admin.gateway, "put", "Puts.")
            [ledger] = [each for each in await service.mcp_servers() if each["name"] == "ledger"]
            assert ledger["changes"][0]["change"] == "'put' has changed: its description"
            assert len(await service.accept_tools("ledger", ledger["tools_digest"])) == 1
            assert await service.accept_tools("ledger", ledger["tools_digest"]) == []
            assert await service.server_log("gone") is not None
            assert any(each["default"] for each in await service.models())
            assert (await service.probe_model("script/play.yaml"))["ok"]
            assert any(not each["connected"] for each in await service.channels())
            assert any(each["key"].startswith("channels") for each in await service.idle_settings())
            assert (await service.add_person("frida", "viewer", []))["path"].startswith("/login/")
            assert await service.sign_out_person("frida") == 0
            found = await service.audit(AuditQuery(action="person.sign-out", limit=1))
            assert found["entries"][0]["source"] == "command"

        decided(admin, "approve")
        asyncio.run(look())
