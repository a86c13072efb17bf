"""Chat in a real Chromium: answers as they come, steering, a question, and a gateway that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import httpx2
import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from tests.browser.person import MILLISECONDS, person
from tests.forked import forked_command
from tests.integration.gateway.harness import BEARER, House
from tests.integration.mcp.support import free_port

Held = TypeVar("Held")
TO_READ = 4
SLOW = "One two three four five six seven eight nine ten eleven twelve."
WRITES = {"operation": "write", "arguments": {"path": "notes.md", "text": "Call Ada."}}
REPLIES = (
    *({"text": f"Answer {number}.", "thinking": "Hm."} for number in range(1, 20)),
    {"when": "slowly", "text": SLOW, "pace": 1.0},
    {"when": "please write", "calls": [WRITES]},
)


@dataclass
class ServedHome:
    """A gateway in a process of its own, which can be killed, on a port that it keeps."""

    house: House
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = forked_command("-m", "colleague", "serve")
        environ = {**os.environ, **self.house.environ, "OPENCLAW_STATE_DIR": str(self.house.root)}
        with (self.house.root / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while not self._answers():
            assert time.monotonic() < deadline, (self.house.root / "serve.log").read_text()
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/healthz", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        deadline = time.monotonic() + 60
        while self._answers():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def said(self) -> list[str]:
        told = httpx2.get(f"{self.url}/api/sessions/agent:main:main/messages", headers=BEARER, timeout=60)
        return [each["text"] for each in told.json()]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHome]:
    house = House(tmp_path_factory.mktemp("chat") / "home").furnish()
    port = free_port()
    house.configure(
        gateway={**house.settings["gateway"], "port": port},
        agents={"defaults": {"model": {"primary": "script/play.yaml"}}},
        tools={"approvals": {"write": "confirm"}},
    )
    house.play(*REPLIES)
    running = ServedHome(house, port)
    running.start()
    yield running
    running.kill()


@contextmanager
def opened(browser: Browser, served: ServedHome, size: str = "desktop", **more: bool) -> Iterator[Page]:
    """Somebody signed in, at the chat."""
    with person(browser, served.url, size=size, path="/chat", **more) as page:
        expect(page.get_by_role("heading", name="Main agent")).to_be_visible()
        yield page


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


NOTICES = """() => {
    const place = document.getElementById("notice");
    window.notices = [];
    const look = () => window.notices.push({text: place.innerText, at: performance.now()});
    new MutationObserver(look).observe(place, {childList: true});
}"""


TELL_RELOADS = """(() => {
    const listen = EventSource.prototype.addEventListener;
    EventSource.prototype.addEventListener = function (kind, take) {
        listen.call(this, kind, (event) => {
            if (kind === "reload") sessionStorage.setItem("reload", "told");
            take(event);
        });
    };
})()"""


def notice_seconds(page: Page, text: str) -> float:
    """For how long such a notice stood there, once it is gone. NOTICES is evaluated before."""
    gone = "(text) => { const at = notices.findIndex((each) => each.text.includes(text));"
    gone += " return at >= 0 && at + 1 < notices.length ? notices[at + 1].at - notices[at].at : null; }"
    return float(page.wait_for_function(gone, arg=text).json_value()) / 1000


def kept(page: Page, held: list[Held]) -> Held:
    """The only request that was held back, once it is."""
    deadline = time.monotonic() + 120
    while not held and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    [found] = held
    return found


def test_an_answer_as_it_comes_and_a_word_meanwhile(browser: Browser, served: ServedHome) -> None:
    with opened(browser, served) as page:
        page.evaluate(NOTICES)
        say(page, "Count slowly")
        expect(page.locator("#live")).to_contain_text("One two", timeout=MILLISECONDS)
        expect(page.locator("#items")).not_to_contain_text("One two")
        say(page, "And stop at twelve")
        assert notice_seconds(page, "The turn at work reads it before its next step") >= TO_READ
        expect(page.locator("#items")).to_contain_text(SLOW, timeout=MILLISECONDS)
        expect(page.locator("#items")).to_contain_text("Answer 2.", timeout=MILLISECONDS)
        expect(page.locator("#live")).to_be_empty(timeout=MILLISECONDS)
        expect(page.get_by_text(SLOW)).to_have_count(1)
        expect(page.get_by_text("And stop at twelve")).to_have_count(1)


def test_enter_counts_before_the_page_is_ready(browser: Browser, served: ServedHome) -> None:
    with opened(browser, served) as page:
        held: list[Route] = []
        page.route("**/chat.js*", lambda route: held.append(route))
        page.goto("/chat", wait_until="commit")
        say(page, "An early word")
        expect(page.get_by_label("Message", exact=True)).to_have_value("An early word")
        page.wait_for_function("() => document.readyState === 'interactive'")
        kept(page, held).continue_()
        expect(page.get_by_label("Message", exact=True)).to_be_empty()
        expect(page.locator("#items > article.user", has_text="An early word")).to_have_count(1)


def test_a_conversation_that_begins_anew_gives_nothing_back(browser: Browser, served: ServedHome) -> None:
    """The page is told to load again before the answer to the command has come."""
    with opened(browser, served) as page:
        held: list[tuple[Route, APIResponse]] = []
        page.route("**/messages", lambda route: held.append((route, route.fetch())))
        page.add_init_script(TELL_RELOADS)
        page.reload()
        say(page, "/new")
        page.wait_for_function("() => sessionStorage.getItem('reload')")
        route, answer = kept(page, held)
        route.fulfill(response=answer)
        expect(page.get_by_text("Nothing was said here yet.")).to_be_visible()
        expect(page.get_by_label("Message", exact=True)).to_be_empty()


def test_a_question_is_decided_where_it_is_asked(browser: Browser, served: ServedHome) -> None:
    with opened(browser, served, "phone") as page:
        page.evaluate(NOTICES)
        say(page, "please write")
        card = page.locator("#questions article")
        expect(card).to_contain_text("Call Ada.", timeout=MILLISECONDS)
        card.get_by_role("button", name="Approve", exact=True).click()
        assert notice_seconds(page, "approved by operator") >= TO_READ
        expect(card).to_have_count(0, timeout=MILLISECONDS)
        expect(page.locator(".call .state", has_text="approved by operator")).to_have_count(
            1, timeout=MILLISECONDS
        )
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    written, deadline = served.house.root / "workspace" / "notes.md", time.monotonic() + 120
    while not written.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert written.read_text() == "Call Ada."


def test_the_gateway_is_killed_and_comes_back(browser: Browser, served: ServedHome) -> None:
    with opened(browser, served) as page:
        say(page, "Once more slowly")
        expect(page.locator("#live")).to_contain_text("One two", timeout=MILLISECONDS)
        served.kill()
        expect(page.locator("#lost")).to_be_visible(timeout=MILLISECONDS)
        say(page, "Are you there?")
        expect(page.locator("#notice")).to_contain_text("What you wrote is still here", timeout=MILLISECONDS)
        served.start()
        expect(page.locator("#lost")).to_be_hidden(timeout=MILLISECONDS)
        page.get_by_role("button", name="Send").click()
        asked = page.locator("#items > article.user", has_text="Are you there?")
        expect(asked.locator("~ article.assistant").last).to_be_visible(timeout=MILLISECONDS)
        expect(page.locator(".dot")).to_have_count(0, timeout=MILLISECONDS)
        everything = len(served.said())
        expect(page.locator("#items > article")).to_have_count(everything, timeout=MILLISECONDS)
        expect(page.get_by_text("Once more slowly")).to_have_count(1)


def test_without_scripts(browser: Browser, served: ServedHome) -> None:
    with opened(browser, served, "phone", scripts=False) as page:
        page.get_by_label("Message", exact=True).fill("Only a form")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("Only a form")).to_be_visible(timeout=MILLISECONDS)
        answer = page.locator("#items > article.user", has_text="Only a form").locator("~ article.assistant")
        deadline = time.monotonic() + 120
        while not answer.count():
            assert time.monotonic() < deadline
            page.reload()
