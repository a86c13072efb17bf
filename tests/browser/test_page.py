"""The page in a real Chromium: a question appears by itself, and a person decides it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.integration.gateway.harness import BEARER, House, Running
from tests.integration.gateway.test_api import ask, hire_bookkeeper

TOKEN = BEARER["Authorization"].removeprefix("Bearer ")
SIZES = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 390, "height": 844}}
SECONDS = 120_000


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
    """Somebody signed in, at the inbox. Anything that goes wrong in the page fails the test."""
    size, scripts = request.param
    with browser.new_context(viewport=SIZES[size], java_script_enabled=scripts) as context:
        opened = context.new_page()
        opened.set_default_timeout(SECONDS)
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on(
            "requestfailed", lambda failed: problems.append(failed.url) if "/news" not in failed.url else None
        )
        opened.goto(f"http://127.0.0.1:{asking.port}/")
        opened.get_by_label("Token of the gateway").fill(TOKEN)
        opened.get_by_role("button", name="Sign in").click()
        expect(opened.get_by_role("heading", name="Inbox")).to_be_attached(timeout=SECONDS)
        yield opened
        assert problems == []


def test_a_question_comes_by_itself_and_is_decided(
    page: Page, asking: Running, request: pytest.FixtureRequest
) -> None:
    question = ask(asking)
    card = page.locator(f"#q-{question['id']}")
    if "no-script" in request.node.name:
        page.reload()
    expect(card.get_by_text("asks before it does")).to_be_visible(timeout=SECONDS)
    card.get_by_role("button", name="Approve", exact=True).click()
    assert asking.ended(question["run_id"])["outcome"] == "completed"
    decided = asking.get(f"/api/approvals/{question['id']}").json()
    assert decided["decided_by"] == "operator"
    expect(card).to_be_hidden(timeout=SECONDS)


def test_the_keyboard_alone(browser: Browser, asking: Running) -> None:
    with browser.new_context(viewport=SIZES["desktop"]) as context:
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(f"http://127.0.0.1:{asking.port}/login")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        question = ask(asking)
        page.locator(f"#q-{question['id']}").wait_for(timeout=SECONDS)
        assert page.title().startswith("(")

        def rejected() -> bool:
            """The list may load again between two keys, so they are pressed until they count."""
            page.keyboard.press("j")
            page.keyboard.press("n")
            return bool(asking.get(f"/api/approvals/{question['id']}").json()["decision"] == "reject")

        asking.until(rejected)
