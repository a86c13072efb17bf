"""The page in a real Chromium: a question appears by itself, and a person decides it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.person import MILLISECONDS, SIZES, TOKEN, person
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_api import ask, hire_bookkeeper


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("page")
    house = House(root / "home").furnish()
    hire_bookkeeper(house)
    with house.open() as running:
        yield running


@pytest.fixture(
    params=[("desktop", True), ("phone", True), ("desktop", False)], ids=["desktop", "phone", "no-script"]
)
def page(browser: Browser, asking: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Somebody signed in, at the inbox."""
    size, scripts = request.param
    with person(browser, asking.url, size=size, scripts=scripts) as opened:
        yield opened


def test_a_question_comes_by_itself_and_is_decided(
    page: Page, asking: Running, request: pytest.FixtureRequest
) -> None:
    question = ask(asking)
    card = page.locator(f"#q-{question['id']}")
    if "no-script" in request.node.name:
        page.reload()
    expect(card.get_by_text("asks before it does")).to_be_visible(timeout=MILLISECONDS)
    card.get_by_role("button", name="Approve", exact=True).click()
    assert asking.ended(question["run_id"])["outcome"] == "completed"
    decided = asking.get(f"/api/approvals/{question['id']}").json()
    assert decided["decided_by"] == "operator"
    expect(card).to_be_hidden(timeout=MILLISECONDS)


def test_the_keyboard_alone(browser: Browser, asking: Running) -> None:
    with browser.new_context(viewport=SIZES["desktop"]) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(asking.url + "/login")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        question = ask(asking)
        page.locator(f"#q-{question['id']}").wait_for(timeout=MILLISECONDS)
        expect(page).to_have_title(re.compile(r"^\("))

        def rejected() -> bool:
            """The list may load again between two keys, so they are pressed until they count."""
            page.keyboard.press("j")
            page.keyboard.press("n")
            return bool(asking.get(f"/api/approvals/{question['id']}").json()["decision"] == "reject")

        asking.until(rejected)
