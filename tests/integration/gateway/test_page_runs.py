"""Runs on the page: found, gone on with, beside each other, and with what other sessions did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from colleague.gateway.page.background_work import BackgroundWork, BackgroundWorks
from colleague.gateway.page.render import page
from colleague.gateway.page.timeline import ON_A_PAGE, RunFamily, timeline, timeline_page
from colleague.gateway.page.visitor import Visitor
from tests.integration.experts.package import CLERK, Package, process
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_page import Browser
from tests.integration.gateway.test_page_chat import signed_in
from tests.office import step

FAILING = "failing"
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A clerk, and somebody whose every attempt fails and is followed by a long pause."""
    furnished = House(tmp_path_factory.mktemp("runs") / "home").furnish()
    retry = {"max_attempts": 5, "backoff": "fixed", "delay": "1h"}
    work = process(execution={"retry": retry})
    failing = Package(files={"processes/work.md": work}, name=FAILING)
    furnished.install(failing, {"model": "script/failing.yaml"})
    replies = [step(2, "failed", "the book is closed")] * 4
    (furnished.root / "failing.yaml").write_text(json.dumps({"replies": replies}))
    (furnished.root / "fork.yaml").write_text(json.dumps({"replies": [step(1), *replies]}))
    return furnished


@pytest.fixture(scope="module")
def gateway(house: House) -> Iterator[Running]:
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def browser(gateway: Running) -> Browser:
    opened = Browser(gateway)
    assert opened.log_in().status_code == 303
    return opened


@pytest.fixture(scope="module")
def runs(gateway: Running) -> list[dict[str, Any]]:
    tasks = ("count the apples", f"count the pears {MARKUP}")
    started = [gateway.post(f"/api/experts/{CLERK}/runs", {"task": task}).json() for task in tasks]
    return [gateway.ended(each["run_id"]) for each in started]


class TestForks:
    def test_again_from_a_step_that_was_reached(self, gateway: Running, browser: Browser) -> None:
        begun = gateway.post(f"/api/experts/{FAILING}/runs", {"process": "work", "model": "script/fork.yaml"})
        original = begun.json()["run_id"]
        gateway.until(lambda: gateway.get(f"/api/runs/{original}").json()["status"] == "retrying")
        shown = browser.get(f"/runs/{original}").text
        assert shown.count('value="fork"') == 2

        made = browser.post(f"/runs/{original}", act="fork", step="2")
        assert made.status_code == 303
        fork = made.headers["location"].rpartition("/")[2]
        told = gateway.get(f"/api/runs/{fork}").json()
        assert told["forked_from"] == {"id": original, "step": 2}
        assert f'Fork of <a href="/runs/{original}">' in browser.get(f"/runs/{fork}").text
        assert f'Forks: <a href="/runs/{fork}">' in browser.get(f"/runs/{original}").text
        assert '<span class="tag">fork</span>' in browser.get("/runs").text
        [entry, *_] = gateway.get("/api/audit?action=run.fork").json()["entries"]
        assert (entry["source"], entry["subject"], entry["run_id"]) == ("page", original, fork)

    @pytest.mark.parametrize("number", ["", "x", "0", "3", "99999999999999999999"])
    def test_a_step_that_is_none(self, gateway: Running, browser: Browser, number: str) -> None:
        begun = gateway.post(f"/api/experts/{FAILING}/runs", {"process": "work", "model": "script/fork.yaml"})
        original = begun.json()["run_id"]
        told = browser.post(f"/runs/{original}", act="fork", step=number)
        assert told.status_code == 400
        assert gateway.get(f"/api/runs/{original}").json()["forks"] == []

    def test_a_viewer_does_not(self, gateway: Running) -> None:
        begun = gateway.post(f"/api/experts/{FAILING}/runs", {"process": "work", "model": "script/fork.yaml"})
        original = begun.json()["run_id"]
        viewer = signed_in(gateway, "viewer")
        assert 'value="fork"' not in viewer.get(f"/runs/{original}").text
        assert viewer.post(f"/runs/{original}", act="fork", step="1").status_code == 403
        assert gateway.get(f"/api/runs/{original}").json()["forks"] == []


class TestList:
    @pytest.mark.parametrize("word", ["apples", "APPLES", "count the a"])
    def test_searched_by_what_went_in(self, browser: Browser, runs: list[dict[str, Any]], word: str) -> None:
        shown = browser.request("GET", "/runs", params={"q": word}).text
        assert f"/runs/{runs[0]['id']}" in shown
        assert f"/runs/{runs[1]['id']}" not in shown

    def test_searched_by_the_end_of_an_id(self, browser: Browser, runs: list[dict[str, Any]]) -> None:
        shown = browser.get(f"/runs?q={runs[1]['id'][-8:]}").text
        assert f"/runs/{runs[1]['id']}" in shown
        assert f"/runs/{runs[0]['id']}" not in shown

    @pytest.mark.parametrize("word", ["count%apples", "count_the_apples", "' OR 1=1 --", MARKUP + "x"])
    @pytest.mark.usefixtures("runs")
    def test_what_is_searched_is_only_text(self, browser: Browser, word: str) -> None:
        shown = browser.request("GET", "/runs", params={"q": word, "status": "completed"})
        assert shown.status_code == 200
        assert "There are no such runs" in shown.text
        assert MARKUP not in shown.text


class TestBesideEachOther:
    def test_what_differs_is_marked(self, browser: Browser, runs: list[dict[str, Any]]) -> None:
        told = browser.get(f"/runs/-/compare?run={runs[0]['id']}&run={runs[1]['id'][-8:]}")
        assert told.status_code == 200
        assert "Two runs" in told.text
        assert '<tr ><th scope="row">State</th><td>completed</td><td>completed</td></tr>' in told.text

    @pytest.mark.parametrize("asked", ["", "run=abcd1234", "run=&run=", "run=ffffffff&run=eeeeeeee"])
    def test_two_have_to_be_named(self, browser: Browser, asked: str) -> None:
        assert browser.get(f"/runs/-/compare?{asked}").status_code in (400, 404, 422)


class TestGoingOn:
    def test_a_run_that_pauses_goes_on_now(self, browser: Browser, gateway: Running) -> None:
        run = gateway.post(f"/api/experts/{FAILING}/runs", {"process": "work"}).json()["run_id"]
        gateway.until(lambda: gateway.get(f"/api/runs/{run}").json()["status"] == "retrying")
        assert "Go on now" in browser.get(f"/runs/{run}").text
        assert browser.post(f"/runs/{run}", act="resume").status_code == 303
        gateway.until(lambda: len(gateway.get(f"/api/runs/{run}").json()["attempts"]) == 2)
        gateway.until(lambda: gateway.get(f"/api/runs/{run}").json()["status"] == "retrying")
        assert gateway.post(f"/api/runs/{run}/resume").json()["resumed"] is True
        assert browser.post(f"/runs/{run}", act="cancel", note="enough").status_code == 303
        assert gateway.ended(run)["outcome"] == "cancelled"
        assert gateway.post(f"/api/runs/{run}/resume").json()["resumed"] is False


class TestTimeline:
    def test_other_sessions_and_runs_are_folded_in(self, runs: list[dict[str, Any]]) -> None:
        base: Any = runs[0]
        call = {
            "operation": "look",
            "status": "finished",
            "is_error": False,
            "arguments": {},
            "result": None,
            "ended_at": None,
            "taken_from": None,
        }
        calls = [
            call | {"session": "main", "started_at": "2026-01-01T00:00:01+00:00"},
            call | {"session": "judge", "started_at": "2026-01-01T00:00:02+00:00"},
            call | {"session": "judge", "started_at": "2026-01-01T00:00:03+00:00"},
        ]
        child = RunFamily(base, [])
        found = timeline(RunFamily({**base, "calls": calls}, [], [child]))
        [session] = [each for each in found if each.what == "session"]
        assert (session.text, [each.what for each in session.inside]) == ("judge", ["call", "call"])
        [handed] = [each for each in found if each.what == "handed over"]
        assert handed.link == f"/runs/{base['id']}"
        assert handed.inside[0].what == "event"
        assert sum(each.what == "call" for each in found) == 1
        [judged] = [each.link for each in found if each.what == "session"]
        assert judged == f"/runs/{base['id']}?session=judge"

    def test_a_long_run_is_shown_in_pages_the_last_one_first(self, runs: list[dict[str, Any]]) -> None:
        base: Any = runs[0]
        call = {
            "session": "main",
            "operation": "look",
            "status": "finished",
            "is_error": False,
            "arguments": {},
            "result": None,
            "ended_at": None,
            "taken_from": None,
        }
        many = [call | {"started_at": f"2099-01-01T00:{n // 60:02}:{n % 60:02}+00:00"} for n in range(250)]
        family = RunFamily({**base, "calls": many}, [])
        last = timeline_page(family)
        assert len(last.entries) == ON_A_PAGE
        assert many[-1]["started_at"] in [each.at for each in last.entries]
        assert last.after == 0
        seen, shown = [*last.entries], last
        while shown.before:
            shown = timeline_page(family, to=int(shown.earlier.rpartition("=")[2]))
            seen = [*shown.entries, *seen]
        assert seen == timeline(family)
        assert int(shown.later.rpartition("=")[2]) == len(shown.entries) + ON_A_PAGE


class TestBackgroundWork:
    def test_what_takes_long_answers_with_how_far_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("colleague.gateway.page.background_work.SHORTLY", 0.01)
        works = BackgroundWorks()

        async def main() -> tuple[str, BackgroundWork]:
            go = asyncio.Event()

            async def long_work(tell: Any) -> str:
                tell(f"Fetching {MARKUP}")
                await go.wait()
                return "fetched"

            work = await works.begin("anna", "preview", "Looking", {"source": "x"}, long_work)
            assert not work.done
            visitor = Visitor("anna", "admin", "key")
            shown = page("expert_work.html", visitor, work=work, problem="").body.decode()
            go.set()
            assert work.task is not None
            await work.task
            return shown, work

        shown, work = asyncio.run(main())
        assert "Fetching &lt;script&gt;" in shown
        assert (work.done, work.result) == (True, "fetched")
        assert works.find(work.id, "anna") is work
