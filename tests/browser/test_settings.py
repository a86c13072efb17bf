"""Overview, settings and documentation in a real Chromium: desktop and phone, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_page import SECONDS, SIZES, TOKEN
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
    """Somebody signed in. Whatever asks another machine, or breaks, fails the test."""
    size, scripts = request.param
    with browser.new_context(viewport=SIZES[size], java_script_enabled=scripts) as context:
        opened = context.new_page()
        opened.set_default_timeout(SECONDS)
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on(
            "request", lambda sent: problems.append(sent.url) if f":{asking.port}/" not in sent.url else None
        )
        opened.goto(f"http://127.0.0.1:{asking.port}/")
        opened.get_by_label("Token of the gateway").fill(TOKEN)
        opened.get_by_role("button", name="Sign in").click()
        expect(opened.get_by_role("heading", name="Inbox")).to_be_attached(timeout=SECONDS)
        yield opened
        assert problems == []


def test_every_screen_fits(page: Page, asking: Running) -> None:
    for path in SCREENS:
        page.goto(f"http://127.0.0.1:{asking.port}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SECONDS)
        box = page.locator("main").bounding_box()
        assert box is not None
        assert box["width"] <= page.viewport_size["width"], path


def test_from_a_bar_to_the_run(page: Page, asking: Running) -> None:
    page.goto(f"http://127.0.0.1:{asking.port}/overview")
    page.locator("#outcomes svg a").first.click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=SECONDS)
    expect(page.locator("tbody tr")).to_have_count(1, timeout=SECONDS)


def test_somebody_is_added_and_the_log_says_so(page: Page, asking: Running) -> None:
    page.goto(f"http://127.0.0.1:{asking.port}/settings/people")
    page.get_by_label("Name", exact=True).fill("bert")
    page.get_by_role("button", name="Add, and show a link").click()
    expect(page.get_by_text("/login/")).to_be_visible(timeout=SECONDS)
    page.get_by_role("link", name="Audit log").click()
    expect(page.locator("tbody tr").first).to_contain_text("bert", timeout=SECONDS)
    page.get_by_role("link", name="anna").first.click()
    expect(page.locator("tbody")).to_contain_text("approval.approve", timeout=SECONDS)


def test_the_documentation_is_searched_as_one_types(browser: Browser, tmp_path: Path) -> None:
    """From a file, where nothing can be asked of a server."""
    top = builder().build(DOCS, tmp_path)[0].parent
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"file://{top}/reference/settings.html")
        page.get_by_label("Search the documentation").fill("dead letter")
        page.locator("#found a", has_text="Delivery, escalation, dead letter").click(timeout=SECONDS)
        expect(page).to_have_url(f"file://{top}/concepts.html#delivery-escalation-dead-letter")
