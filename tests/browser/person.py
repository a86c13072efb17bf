"""Somebody at the page in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.integration.gateway.harness import BEARER

TOKEN = BEARER["Authorization"].removeprefix("Bearer ")
SIZES = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 390, "height": 844}}
MILLISECONDS = 120_000


@contextmanager
def person(
    browser: Browser,
    url: str,
    *,
    size: str = "desktop",
    path: str = "/",
    link: str = "",
    scripts: bool = True,
    **more: Any,
) -> Iterator[Page]:
    """Signed in by the token or by a link, at `path`, where the scripts are ready. What goes wrong in the
    page fails the test, and so does a request to any other place."""
    more |= {"viewport": SIZES[size], "base_url": url, "java_script_enabled": scripts}
    with browser.new_context(**more) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        problems = watched(page, url)
        page.goto(link or f"/login?next={path}")
        if not link:
            page.get_by_label("Token of the gateway").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible(timeout=MILLISECONDS)
        page.wait_for_load_state()
        yield page
        assert problems == []


def watched(page: Page, url: str) -> list[str]:
    """What goes wrong in a page from now on."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("dialog", lambda dialog: found.append(f"a script ran: {dialog.message}"))
    page.on("console", lambda line: found.append(line.text) if line.text.startswith("Refused to") else None)
    page.on("request", lambda sent: found.append(sent.url) if not sent.url.startswith(url) else None)
    return found


def width_of(page: Page) -> tuple[int, int]:
    """How wide what is shown is, and how much of that fits."""
    script = "() => [document.documentElement.scrollWidth, window.innerWidth]"
    wide, fits = page.evaluate(script)
    return int(wide), int(fits)
