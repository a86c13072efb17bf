"""Overview, settings and documentation in a real Chromium: desktop and phone, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from colleague.mcp.log import log_file
from tests.browser.person import MILLISECONDS, person
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_api import ask, hire_bookkeeper
from tests.unit.test_docs_site import DOCS, builder

SCREENS = (
    *("/overview", "/settings", "/settings/models", "/settings/servers", "/settings/channels"),
    *("/settings/people", "/settings/audit", "/docs", "/docs/concepts", "/docs?q=approval"),
)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("settings")
    house = House(root / "home").furnish()
    hire_bookkeeper(house)
    with house.open() as running:
        question = ask(running)
        fields = {"decision": "approve", "digest": question["digest"], "by": "anna"}
        assert running.post(f"/api/approvals/{question['id']}", fields).status_code == 200
        running.ended(question["run_id"])
        yield running


@pytest.fixture(
    params=[("desktop", True), ("phone", False)], ids=["desktop", "phone-no-script"], scope="module"
)
def page(browser: Browser, asking: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    size, scripts = request.param
    with person(browser, asking.url, size=size, scripts=scripts) as opened:
        yield opened


def test_every_screen_fits(page: Page) -> None:
    for path in SCREENS:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=MILLISECONDS)
        box = page.locator("main").bounding_box()
        assert box is not None
        assert box["width"] <= page.viewport_size["width"], path


def test_from_a_bar_to_the_run(page: Page) -> None:
    page.goto("/overview")
    page.locator("#outcomes svg a").first.click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=MILLISECONDS)
    expect(page.locator("tbody tr")).to_have_count(1, timeout=MILLISECONDS)


def test_the_overview_follows_what_happens(browser: Browser, asking: Running) -> None:
    with person(browser, asking.url) as page:
        page.goto("/overview")
        under_way = page.locator(".figures div", has_text="under way now").locator("dd")
        before = int(under_way.inner_text())
        page.locator("#outcomes").get_by_text("As a table").click()
        ask(asking)
        expect(under_way).to_have_text(str(before + 1), timeout=MILLISECONDS)
        expect(page.locator("#outcomes table")).to_be_visible(timeout=MILLISECONDS)


def test_somebody_is_added_and_the_log_says_so(page: Page) -> None:
    page.goto("/settings/people")
    page.get_by_label("Name", exact=True).fill("bert")
    page.get_by_role("button", name="Add, and show a link").click()
    expect(page.get_by_text("/login/")).to_be_visible(timeout=MILLISECONDS)
    page.get_by_role("link", name="Audit log").click()
    expect(page.locator("tbody tr").first).to_contain_text("bert", timeout=MILLISECONDS)
    page.get_by_role("link", name="anna").first.click()
    expect(page.locator("tbody")).to_contain_text("approval.approve", timeout=MILLISECONDS)


def test_the_log_of_a_server_follows_what_it_writes(browser: Browser, asking: Running) -> None:
    written = log_file(asking.home.logs, "ledger")
    written.parent.mkdir(exist_ok=True)
    with person(browser, asking.url) as page:
        page.goto("/settings/servers/log?name=ledger")
        with written.open("a") as log:
            log.write("a line that comes later\n")
        expect(page.locator("#log")).to_contain_text("a line that comes later", timeout=MILLISECONDS)


def test_the_documentation_is_searched_as_one_types(browser: Browser, tmp_path: Path) -> None:
    """From a file, where nothing can be asked of a server."""
    top = builder().build(DOCS, tmp_path)[0].parent
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"file://{top}/reference/settings.html")
        page.get_by_label("Search the documentation").fill("dead letter")
        page.locator("#found a", has_text="Delivery, escalation, dead letter").click(timeout=MILLISECONDS)
        expect(page).to_have_url(f"file://{top}/concepts.html#delivery-escalation-dead-letter")
