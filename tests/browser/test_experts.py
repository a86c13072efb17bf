"""Experts in a real Chromium: installed with what they may do in sight, fired, and a file put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from colleague.experts.workspace.workspace import Workspace
from tests.browser.person import MILLISECONDS, SIZES, person
from tests.integration.gateway.harness import House, Running
from tests.integration.gateway.keeper import KEEPER, NOTES, furnish, keep, keeper_package

SCREENS = ("", "/state", "/state?file=state/notes.md", "/learnings", "/prompt", "/setup")


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    house = furnish(House(tmp_path_factory.mktemp("experts") / "home").furnish())
    with house.open() as running:
        keep(running)
        yield running


@pytest.fixture(params=[("desktop", True), ("phone", False)], ids=["desktop", "phone-no-script"])
def page(browser: Browser, keeping: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    size, scripts = request.param
    with person(browser, keeping.url, size=size, scripts=scripts) as opened:
        yield opened


def test_a_state_file_is_put_back(page: Page, keeping: Running) -> None:
    for screen in SCREENS:
        page.goto(f"/experts/{KEEPER}{screen}")
        width = page.viewport_size["width"] if page.viewport_size else 0
        assert page.locator("main").bounding_box()["width"] <= width, screen  # type: ignore[index]
    page.goto(f"/experts/{KEEPER}/state")
    page.get_by_role("link", name=NOTES).click()
    page.get_by_label("Versions").get_by_role("link").nth(-2).click()
    expect(page.get_by_text("+First line")).to_be_visible(timeout=MILLISECONDS)
    page.get_by_role("button", name="Restore version 2").click()
    expect(page.get_by_text("the newest")).to_be_visible(timeout=MILLISECONDS)
    file = Workspace.of(keeping.home.root / "workspace", KEEPER).root / NOTES
    assert file.read_text() == "First line\n"


def test_what_another_person_does_shows_by_itself(browser: Browser, keeping: Running) -> None:
    act = f"/api/triggers/{KEEPER}/nightly"
    with person(browser, keeping.url, path=f"/experts/{KEEPER}") as page:
        nightly = page.locator(".triggers li", has_text="nightly")
        order = page.locator(".triggers li", has_text="order").first
        expect(nightly.get_by_role("button", name="Pause nightly")).to_be_visible()
        keeping.post(f"{act}/pause")
        expect(nightly.get_by_role("button", name="Resume nightly")).to_be_visible(timeout=MILLISECONDS)
        order.get_by_text("Fire it by hand").click()
        order.get_by_label("Payload").fill("somebody is writing here")
        page.get_by_role("heading", name=KEEPER).click()
        keeping.post(f"{act}/resume")
        page.wait_for_timeout(1_000)
        expect(order.get_by_label("Payload")).to_have_value("somebody is writing here")
        page.goto("/experts")
        kept = page.locator(".cards li", has_text=KEEPER).first
        expect(kept.get_by_text("Nothing is wrong")).to_be_visible()
        keeping.post(f"{act}/pause")
        expect(kept.get_by_text("1 paused")).to_be_visible(timeout=MILLISECONDS)
        keeping.post(f"{act}/resume")
        (keeping.home.expert(KEEPER) / "bindings.yaml").rename(keeping.home.root / "bindings.yaml")
        expect(kept.locator(".problem")).to_be_visible(timeout=MILLISECONDS)
        (keeping.home.root / "bindings.yaml").rename(keeping.home.expert(KEEPER) / "bindings.yaml")
        expect(kept.get_by_text("Nothing is wrong")).to_be_visible(timeout=MILLISECONDS)


def test_screens_load_again_and_stay_as_somebody_left_them(browser: Browser, keeping: Running) -> None:
    home = f"/experts/{KEEPER}"
    with person(browser, keeping.url) as page:
        for path, touch in (
            ("/runs", lambda: page.get_by_label("Mark run").first.check()),
            (f"{home}/state", lambda: None),
            (f"{home}/state?file={NOTES}&version=1", lambda: None),
            (f"{home}/prompt", lambda: page.locator("#section-1 summary").click()),
        ):
            page.goto(path)
            reloaded(page, lambda: keeping.post(f"/api/triggers/{KEEPER}/nightly/pause"))
            touch()
            reloaded(page, lambda: keeping.post(f"/api/triggers/{KEEPER}/nightly/resume"))
            assert page.url.endswith(path)
            if path == "/runs":
                expect(page.get_by_label("Mark run").first).to_be_checked()
            elif path.endswith("version=1"):
                expect(page.get_by_text("version 1", exact=True)).to_be_visible()
            elif path.endswith("/prompt"):
                expect(page.locator("#section-1 pre")).to_be_visible()


def reloaded(page: Page, change: Callable[[], object]) -> None:
    """Waits until the live part of the page is another one."""
    page.evaluate("for (const each of document.querySelector('#live').children) each.dataset.old = ''")
    change()
    expect(page.locator("#live > [data-old]")).to_have_count(0)


def test_installed_bound_enabled_and_fired(
    page: Page, keeping: Running, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = "second" if "desktop" in request.node.name else "third"
    source = keeper_package(name=name).write(tmp_path / name)
    page.goto("/experts")
    page.get_by_role("link", name="Install an expert").click()
    page.get_by_label("Source", exact=True).fill(str(source))
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_text("ledger.append")).to_be_visible(timeout=MILLISECONDS)
    page.get_by_role("button", name=f"Install {name}").click()
    page.get_by_label("Bind ledger to").select_option("server:ledger")
    page.get_by_role("button", name="Bind ledger").click()
    page.get_by_role("button", name="Turn its triggers on").click()
    expect(page.get_by_text("its runs fail: no model configured")).to_be_visible(timeout=MILLISECONDS)
    bindings = keeping.home.expert(name) / "bindings.yaml"
    bindings.write_text(bindings.read_text() + "model: script/play.yaml\n")
    page.reload()
    expect(page.get_by_text("Nothing is wrong")).to_be_visible(timeout=MILLISECONDS)
    trigger = page.locator(".triggers li").first
    trigger.get_by_text("Fire it by hand").click()
    trigger.get_by_label("Payload").fill('{"id": "7"}')
    trigger.get_by_role("button", name="Fire order").click()
    expect(page.get_by_text("What happened")).to_be_visible(timeout=MILLISECONDS)
    assert keeping.ended(page.url.rpartition("/")[2])["expert"] == name


def test_an_update_shows_what_loosens_before_it_counts(page: Page, keeping: Running) -> None:
    version = "1.1.0" if page.viewport_size == SIZES["desktop"] else "1.2.0"
    loosened = {"1.1.0": "auto", "1.2.0": "manual"}[version]
    keeper_package(version, append=loosened).write(keeping.home.root / "source" / KEEPER)
    page.goto(f"/experts/{KEEPER}/setup")
    page.get_by_role("button", name="Look for a new version").click()
    expect(page.get_by_text("tier of ledger.append")).to_be_visible(timeout=MILLISECONDS)
    assert keeping.get(f"/api/experts/{KEEPER}").json()["version"] != version
    if loosened == "auto":
        page.get_by_label("I accept that it may do more").check()
    page.get_by_role("button", name=f"Update {KEEPER}").click()
    expect(page.get_by_role("heading", name=KEEPER)).to_contain_text(version, timeout=MILLISECONDS)
