"""A real Chromium, and a site of a stranger for it to open."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.person import MILLISECONDS
from tests.browser.site import Site
from tests.integration.gateway.harness import House, Running

expect.set_options(timeout=MILLISECONDS)  # five seconds are too few beside other work

NAMES = ("chromium", "chromium-browser", "google-chrome")
REBOUND = "rebound.example"
"""A stranger's name that leads to this machine."""


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: with COLLEAGUE_PICTURES into the documentation, else nowhere that stays."""
    asked = os.environ.get("COLLEAGUE_PICTURES")
    return Path(asked) if asked else tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the system's own. Root can install it, so then it must be there."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is not None and driver_starts():
        return found
    missing = "libatomic1" if found else "chromium"
    if os.geteuid() == 0:
        pytest.fail(f"the package {missing} is missing: scripts/programs installs it")
    pytest.skip(f"install the package {missing}")


def driver_starts() -> bool:
    """Playwright brings a Node of its own, which needs a library that a bare Debian does not have."""
    program, *_ = compute_driver_executable()
    return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    rules = [f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP evil.example 127.0.0.1"]
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=rules + sandbox)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>A page of somebody else</title><body></body>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Site(server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def tokenless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The gateway that is easiest to attack: on loopback, and it asks nobody for a token."""
    root: Path = tmp_path_factory.mktemp("browser")
    house = House(root / "home").furnish()
    house.configure(gateway={"auth": {"mode": "none"}})
    with house.open() as running:
        yield running
