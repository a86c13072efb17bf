"""Experts on the page: how each is, and changing it with the checks that the commands make."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from colleague.experts.workspace.learnings import entries
from colleague.experts.workspace.workspace import Workspace
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.keeper import KEEPER, NOTES, furnish, keep, keeper_package
from tests.integration.gateway.test_page import Browser

AT = f"/experts/{KEEPER}"
FILE = f"{AT}/state?file=state%2Fnotes.md"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return furnish(House(tmp_path_factory.mktemp("experts") / "home").furnish())


@pytest.fixture(scope="module")
def gateway(house: House) -> Iterator[Running]:
    with house.open() as running:
        keep(running)
        yield running


@pytest.fixture(scope="module")
def browser(gateway: Running) -> Browser:
    opened = Browser(gateway)
    assert opened.log_in().status_code == 303
    return opened


@pytest.fixture(scope="module")
def viewer(gateway: Running) -> Browser:
    made = gateway.post("/api/people", {"name": "vera", "role": "viewer", "experts": []})
    opened = Browser(gateway)
    assert opened.request("POST", made.json()["path"]).status_code == 303
    return opened


def settled(browser: Browser, path: str, **fields: str) -> str:
    """What a piece of work came to: the page after it, or the address that it leads to."""
    told = browser.post(path, **fields)
    assert told.status_code == 303, told.text
    where = told.headers["location"]
    while "/-/work/" in where:
        told = browser.get(where)
        if told.status_code == 303:
            return str(told.headers["location"])
        if "Refresh" not in told.headers:
            return told.text
    return str(where)


def checked(browser: Browser) -> str:
    """The list, once every expert has been looked at."""
    shown = browser.get("/experts").text
    return shown if "Being checked" not in shown else ""


def digest_in(shown: str) -> str:
    found = re.search(r'name="digest" value="([0-9a-f]+)"', shown)
    assert found is not None, shown
    return found[1]


class TestLooking:
    def test_the_list_names_what_is_wrong(self, browser: Browser, gateway: Running) -> None:
        shown = gateway.until(lambda: checked(browser))
        assert 'href="/experts/keeper"' in shown
        assert "Nothing is wrong" in shown
        assert "told gets no message" not in shown, "the clerk's channel is bound"

    def test_one_expert_at_a_glance(self, browser: Browser) -> None:
        shown = browser.get(AT).text
        for part in ("asks first", "ledger.append", "/hooks/keeper/order", "next <time", "of 1,000,000"):
            assert part in shown, part
        assert "completed</span> <a href=" in shown, "the last event"

    def test_the_prompt_with_its_sizes(self, browser: Browser, gateway: Running) -> None:
        shown = browser.get(f"{AT}/prompt").text
        document = gateway.get(f"/api{AT}/prompt").json()
        assert [each["name"] for each in document["sections"]][:2] == ["Identity", "How to Operate"]
        assert "\n\n".join(each["text"] for each in document["sections"]) + "\n" == document["prompt"]
        assert f"{document['chars']:,} characters" in shown

    @pytest.mark.parametrize("path", ["", "/state", "/learnings", "/prompt", "/setup"])
    def test_nothing_of_others_is_markup(self, browser: Browser, path: str) -> None:
        told = browser.get(AT + path)
        assert told.status_code == 200
        assert "<script>alert" not in told.text
        assert "<img src=x" not in told.text
        assert "style=" not in told.text, "the policy of the page refuses it"
        assert "{{ 7 * 7 }}" in told.text
        if path != "/setup":
            assert f'hx-get="{AT}{path}"' in told.text, "it loads again by itself"

    def test_who_is_not_there(self, browser: Browser) -> None:
        for path in ("/experts/nobody", "/experts/nobody/state", "/experts/..%2f..", "/experts/-/work/none"):
            assert browser.get(path).status_code == 404, path

    def test_an_expert_that_cannot_be_read_says_why(self, browser: Browser, house: House) -> None:
        house.install(keeper_package(name="broken"), {}, enable=False)
        (house.home.expert("broken") / "expert.yaml").write_text("name: [")
        shown = browser.get("/experts/broken")
        assert shown.status_code == 200
        assert "expert.yaml" in shown.text
        assert browser.get("/experts").status_code == 200


class TestState:
    def test_a_version_is_shown_with_what_it_changed_and_restored(
        self, browser: Browser, house: House
    ) -> None:
        assert NOTES in browser.get(f"{AT}/state").text
        newest = browser.get(FILE).text
        assert "version 3" in newest
        assert "<ins>+&lt;script&gt;" in newest
        assert "Restore" not in newest, "it is the one that counts"
        assert "Restore version 2" in browser.get(f"{FILE}&version=2").text
        assert browser.post(f"{AT}/state", file=NOTES, version="2").status_code == 303
        file = Workspace.of(house.root / "workspace", KEEPER).root / NOTES
        assert file.read_text() == "First line\n"
        assert "version 4" in browser.get(FILE).text

    @pytest.mark.parametrize("version", ["", "0x2", "-1", "999999", "9" * 40])
    def test_a_version_that_cannot_be(self, browser: Browser, version: str) -> None:
        assert browser.post(f"{AT}/state", file=NOTES, version=version).status_code in (400, 404, 409)

    @pytest.mark.parametrize("file", ["../../colleague.json", "/etc/passwd", "expert.yaml", "bindings.yaml"])
    def test_no_other_file_is_shown(self, browser: Browser, file: str) -> None:
        told = browser.request("GET", f"{AT}/state", params={"file": file})
        assert told.status_code == 404


class TestLearnings:
    def test_a_proposal_shows_what_it_adds_and_is_taken(
        self, browser: Browser, viewer: Browser, gateway: Running, house: House
    ) -> None:
        shown = browser.get(f"{AT}/learnings").text
        assert "What this changes in learnings/_package.md" in shown
        assert "<ins>+### Mondays" in shown
        [proposed] = gateway.get(f"/api{AT}/learnings").json()["proposed"]
        fields = {"id": proposed["approval"]["id"], "digest": proposed["approval"]["digest"]}
        assert viewer.post(f"{AT}/learnings", decision="approve", **fields).status_code == 403
        assert browser.post(f"{AT}/learnings", decision="approve", **fields).status_code == 303
        folder = Workspace.of(house.root / "workspace", KEEPER).learnings
        [entry] = gateway.until(lambda: entries(folder, "package"))
        assert entry.title.startswith("Mondays")
        assert entry.title in html.unescape(browser.get(f"{AT}/learnings").text)
        late = browser.post(f"{AT}/learnings", decision="reject", **fields)
        assert (late.status_code, "decided this already" in late.text) == (409, True)


class TestTriggers:
    def test_paused_and_resumed_by_name(self, browser: Browser) -> None:
        assert browser.post(f"{AT}/triggers/order", act="pause").status_code == 303
        assert "paused by operator" in browser.get(AT).text
        assert browser.post(f"{AT}/triggers/order", act="resume").status_code == 303
        assert "paused by operator" not in browser.get(AT).text

    def test_fired_by_hand(self, browser: Browser, gateway: Running) -> None:
        told = browser.post(f"{AT}/triggers/order", act="fire", payload='{"id": "o-1"}')
        assert told.status_code == 303
        run = gateway.ended(told.headers["location"].rpartition("/")[2])
        assert run["lane"] == "keeper/order"

    def test_a_wrong_payload_is_not_lost(self, browser: Browser) -> None:
        told = browser.post(f"{AT}/triggers/order", act="fire", payload='{"id": <b>')
        assert told.status_code == 409
        assert "the payload is no JSON" in told.text
        assert "{&#34;id&#34;: &lt;b&gt;</textarea>" in told.text

    def test_a_lane_shows_its_depth(self, browser: Browser, gateway: Running, house: House) -> None:
        asks = {"calls": [{"operation": "ledger.append", "arguments": {"line": "one"}}]}
        script = house.root / "keeper.yaml"
        before = script.read_text()
        script.write_text(json.dumps({"replies": [asks, {"text": "done"}]}))
        try:
            runs = [self.fired(browser, str(number)) for number in range(2)]
            gateway.until(lambda: gateway.get(f"/api/runs/{runs[0]}").json()["status"] == "waiting")
            assert '<td>keeper/order</td><td data-label="Depth:">2</td>' in browser.get(AT).text
            for run in runs:
                assert browser.post(f"/runs/{run}", act="cancel", note="enough").status_code == 303
                assert gateway.ended(run)["outcome"] == "cancelled"
        finally:
            script.write_text(before)

    def fired(self, browser: Browser, number: str) -> str:
        told = browser.post(f"{AT}/triggers/order", act="fire", payload=json.dumps({"id": number}))
        return str(told.headers["location"].rpartition("/")[2])


class TestInstalling:
    def test_seen_installed_bound_enabled_and_removed(
        self, browser: Browser, gateway: Running, tmp_path: Path
    ) -> None:
        source = keeper_package(name="second").write(tmp_path / "second")
        shown = settled(browser, "/experts/-/install", source=str(source))
        assert "Install second?" in shown
        assert gateway.get("/api/experts/second").status_code == 404, "looking installs nothing"
        told = settled(browser, "/experts/-/install", source=str(source), digest=digest_in(shown))
        assert told == "/experts/second/setup"
        setup = "/experts/second/setup"
        refused = browser.post(setup, act="enable")
        assert (refused.status_code, "is bound to nothing" in refused.text) == (409, True)
        assert browser.post(setup, act="bind", tool="ledger", target="server:ledger").status_code == 303
        assert browser.post(setup, act="enable").status_code == 303
        document = gateway.get("/api/experts/second").json()
        assert (document["enabled"], document["tools"]) == (True, {"ledger": "ledger"})
        assert gateway.get("/api/triggers?expert=second").json()[0]["state"] == "active"
        assert "Started and asked: ledger" in settled(browser, setup, act="check")
        assert browser.post(setup, act="disable").status_code == 303
        assert browser.post(setup, act="remove", typed="keeper").status_code == 409
        assert (
            browser.post(setup, act="remove", typed="second", purge="yes").headers["location"] == "/experts"
        )
        assert gateway.get("/api/experts/second").status_code == 404

    def test_what_changed_after_it_was_seen_is_not_installed(
        self, browser: Browser, gateway: Running, tmp_path: Path
    ) -> None:
        source = keeper_package(name="third").write(tmp_path / "third")
        seen = digest_in(settled(browser, "/experts/-/install", source=str(source)))
        keeper_package(name="third", append="auto").write(source)
        shown = settled(browser, "/experts/-/install", source=str(source), digest=seen)
        assert "not what you looked at" in shown
        assert gateway.get("/api/experts/third").status_code == 404

    @pytest.mark.parametrize("source", ["/nowhere/at/all", "-u", "<script>alert(1)</script>", " "])
    def test_a_source_that_is_none(self, browser: Browser, source: str) -> None:
        told = browser.post("/experts/-/install", source=source)
        shown = told.text if told.status_code == 409 else browser.get(told.headers["location"]).text
        assert "problem box" in shown
        assert "<script>alert" not in shown

    def test_an_update_shows_its_difference_and_takes_words_for_what_loosens(
        self, browser: Browser, gateway: Running, house: House
    ) -> None:
        setup = f"{AT}/setup"
        assert "is up to date" in settled(browser, setup, act="look")
        keeper_package("1.1.0", append="auto").write(house.root / "source" / KEEPER)
        shown = settled(browser, setup, act="look")
        assert "tier of ledger.append: confirm → auto" in shown
        assert "may then do more without asking" in shown
        digest = digest_in(shown)
        assert "may then do more" in settled(browser, setup, act="update", digest=digest)
        assert "not what you looked at" in settled(
            browser, setup, act="update", digest="0" * 64, loosen="yes"
        )
        assert gateway.get(f"/api{AT}").json()["version"] == "1.0.0"
        assert settled(browser, setup, act="update", digest=digest, loosen="yes") == AT
        document = gateway.get(f"/api{AT}").json()
        assert (document["version"], document["tiers"]["auto"]) == ("1.1.0", ["ledger.append"])


class TestRoles:
    CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/experts/-/install", {"source": "/nowhere"}),
        (f"{AT}/setup", {"act": "disable"}),
        (f"{AT}/setup", {"act": "remove", "typed": KEEPER}),
        (f"{AT}/state", {"file": NOTES, "version": "1"}),
        (f"{AT}/triggers/order", {"act": "fire", "payload": "{}"}),
    )

    def test_a_viewer_looks_and_changes_nothing(self, viewer: Browser) -> None:
        for path in ("", "/state", "/learnings", "/prompt", "/setup"):
            told = viewer.get(AT + path)
            assert told.status_code == 200
            assert 'name="act"' not in told.text, path
        assert viewer.get("/experts/-/install").status_code == 403
        for path, fields in self.CHANGES:
            assert viewer.post(path, **fields).status_code == 403, path

    def test_a_form_without_our_key_changes_nothing(self, browser: Browser) -> None:
        for path, fields in self.CHANGES:
            assert browser.request("POST", path, data=fields).status_code == 403, path

    def test_work_is_seen_by_whoever_began_it(self, browser: Browser, viewer: Browser) -> None:
        told = browser.post("/experts/-/install", source="/nowhere")
        assert viewer.get(told.headers["location"]).status_code == 404
