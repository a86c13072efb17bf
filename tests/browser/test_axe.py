"""An axe run over every screen, desktop and phone, light and dark: nothing serious is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Page, expect

from colleague.gateway.app import PAGE
from tests.browser.person import SIZES, person, width_of
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.test_api import approvals
from tests.waiting_inbox import fill_inbox

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LEFT_OUT = ("/news", "/static/{name}", "/settings/audit.csv", "/settings/audit.json")
"""No screens."""
MORE = (
    *("/?stay=1", "/runs?status=waiting", "/inbox/{approval}", "/inbox/failed/{run}", "/runs/{run}"),
    *(f"/experts/{{expert}}{screen}" for screen in ("", "/setup", "/prompt", "/state", "/learnings")),
    *("/docs/concepts", "/nothing-here"),
)
"""Screens whose address names something; {run}, {approval} and {expert} are things that exist."""
EVERYTHING = "{resultTypes: ['violations']}"
CONTRAST = "{runOnly: ['color-contrast'], resultTypes: ['violations']}"
SERIOUS = ("serious", "critical")


def screens() -> list[str]:
    """Every address of the page that takes no name, whoever added it, and those of MORE."""
    found = [route.path for router in PAGE for route in router.routes if "GET" in route.methods]
    return sorted({path for path in found if "{" not in path and path not in LEFT_OUT} | {*MORE})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    house = House(tmp_path_factory.mktemp("axe") / "home").furnish()
    fill_inbox(house.home)
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def page(browser: Browser, filled: Running) -> Iterator[Page]:
    with person(browser, filled.url) as opened:
        yield opened


@pytest.mark.parametrize("path", screens())
def test_a_screen(page: Page, filled: Running, path: str) -> None:
    page.set_viewport_size(SIZES["desktop"])
    asked = approvals(filled)[0]
    names = {"run": asked["run_id"], "approval": asked["id"], "expert": CLERK}
    answer = page.goto(filled.url + path.format(**names))
    assert answer is not None
    if "<!doctype html>" not in answer.text()[:100]:
        return  # a part of a screen
    page.locator("details").evaluate_all("found => found.forEach(each => (each.open = true))")
    page.evaluate(AXE)
    page.emulate_media(color_scheme="light")
    assert serious(page, EVERYTHING) == {}
    page.emulate_media(color_scheme="dark")
    assert serious(page, CONTRAST) == {}
    page.set_viewport_size(SIZES["phone"])
    assert serious(page, EVERYTHING) == {}
    page.emulate_media(color_scheme="light")
    assert serious(page, CONTRAST) == {}
    wide, fits = width_of(page)
    assert wide <= fits


def serious(page: Page, options: str) -> dict[str, list[str]]:
    """What axe finds that matters, with where it stands."""
    found = page.evaluate(f"async () => (await axe.run(document, {options})).violations")
    return {
        each["id"]: [node["html"][:200] for node in each["nodes"]]
        for each in found
        if each["impact"] in SERIOUS
    }


def test_without_signing_in(browser: Browser, filled: Running) -> None:
    """The form, which an address that nobody has leads to as well, and the link of an approval on a phone."""
    asked = next(each for each in approvals(filled) if each["kind"] == "confirm")
    link = filled.post(f"/api/approvals/{asked['id']}/link", {"person": "anna"}).json()["path"]
    with browser.new_context(color_scheme="dark", viewport=SIZES["phone"]) as context:
        stranger = context.new_page()
        for path, said in (("/nothing-here", "Token of the gateway"), (link, "You decide as anna")):
            stranger.goto(filled.url + path)
            expect(stranger.get_by_text(said)).to_be_visible()
            stranger.evaluate(AXE)
            assert serious(stranger, EVERYTHING) == {}
            wide, fits = width_of(stranger)
            assert wide <= fits
