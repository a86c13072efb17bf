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
    browser: Browser, url: str, *, size: str = "desktop", path: str = "/", link: str = "", **more: Any
) -> Iterator[Page]:
    """Signed in by the token or by a link, at `path`. What goes wrong in the page fails the test."""
    with browser.new_context(viewport=SIZES[size], **more) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"a script ran: {dialog.message}"))
        page.goto(url + (link or f"/login?next={path}"))
        if not link:
            page.get_by_label("Token of the gateway").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible(timeout=MILLISECONDS)
        yield page
        assert problems == []
