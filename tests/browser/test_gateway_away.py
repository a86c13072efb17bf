"""The gateway is killed and comes back while the inbox is open: the page goes on by itself."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.acceptance.test_serve import start
from tests.browser.person import MILLISECONDS, person
from tests.integration.gateway.harness import House
from tests.integration.mcp.support import free_port
from tests.waiting_inbox import fill_inbox


def listening(house: House, port: int) -> subprocess.Popen[str]:
    child = start(house, "serve", "--port", str(port))
    assert child.stdout is not None
    assert child.stdout.readline().startswith("Colleague listens on")
    return child


def test_killed_and_back(browser: Browser, tmp_path: Path) -> None:
    house = House(tmp_path / "home").furnish()
    port = free_port()
    child = listening(house, port)
    try:
        with person(browser, f"http://127.0.0.1:{port}") as page:
            expect(page.get_by_text("Nothing waits for you")).to_be_visible()
            child.send_signal(signal.SIGKILL)
            child.communicate()
            fill_inbox(house.home)
            child = listening(house, port)
            expect(page.get_by_text("asks before it does")).to_be_visible(timeout=MILLISECONDS)
            expect(page).to_have_title(re.compile(r"^\("))
            page.locator("[data-kind=confirm]").get_by_role("button", name="Reject").click()
            expect(page.locator("[data-kind=confirm]")).to_have_count(0, timeout=MILLISECONDS)
    finally:
        child.kill()
        child.communicate()
