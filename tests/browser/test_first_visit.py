"""From an empty home to the first decided question, on the page alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from colleague.cli.demo_page import MAILS
from colleague.experts.practice import EXPERT, TRIGGER, PracticeSetup, receive_mail
from tests.browser.person import MILLISECONDS, person
from tests.integration.gateway.harness import House, Running

PIPELINE = """Two of the five open deals, 107,000 USD together:

| deal | stage | amount | why now |
|---|---|---:|---|
| Brightwell paging | proposal | 62,000 USD | quiet for 23 days, and we owe them a security overview |
| Acme on-call rollout | evaluation | 45,000 USD | Sarah has a budget and asks for a price |

Shall I ask *radiant-sales-expert* to prepare the overview for Elena?"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A home in which nothing is installed."""
    house = House(tmp_path_factory.mktemp("first") / "home")
    house.root.mkdir()
    house.configure(gateway={"auth": {"mode": "token", "token": "${GATEWAY_TOKEN}"}})
    with house.open() as running:
        yield running


def test_the_whole_way(browser: Browser, empty: Running, pictures: Path) -> None:
    with person(browser, empty.url) as page:
        expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="Install it").click()
        page.get_by_role("button", name="Connect it").click()
        page.get_by_label("Subject").fill("A price for 40 seats")
        page.screenshot(path=pictures / "first-visit.png")
        page.get_by_role("button", name="Send it").click()
        yes = page.get_by_role("button", name="Approve", exact=True)
        expect(yes).to_be_visible(timeout=MILLISECONDS)
        expect(page.get_by_text("crm.update_deal_stage").first).to_be_visible()
        page.screenshot(path=pictures / "first-decision.png")
        yes.click()
        expect(page.get_by_role("heading", name="That was your first decision")).to_be_visible()
        page.get_by_role("link", name="Go to the inbox").click()
        expect(page.get_by_text("has left a draft of email.send")).to_be_visible(timeout=MILLISECONDS)
        mailto = page.get_by_role("link", name="Open in mail program").get_attribute("href")
        assert str(mailto).startswith("mailto:sarah.chen@acme.example?")
    [run] = [each for each in empty.get("/api/runs").json() if each["process"] == "inbound-email-triage"]
    assert empty.ended(run["id"])["outcome"] == "completed"
    [decided] = [each for each in empty.get("/api/approvals?status=all").json() if each["kind"] == "confirm"]
    assert (decided["decision"], decided["decided_by"]) == ("approve", "operator")


def test_the_mail_of_the_demo_in_the_inbox(browser: Browser, empty: Running, pictures: Path) -> None:
    """As `colleague demo` shows it; the picture of the README is made of it."""
    practice = PracticeSetup(empty.home, empty.home.workspace)
    for mail in MAILS[:2]:
        event = {"payload": receive_mail(practice.database, *mail)}
        assert empty.post(f"/api/triggers/{EXPERT}/{TRIGGER}/fire", event).status_code == 202
    empty.until(lambda: {"confirm", "draft"} <= {each["kind"] for each in waiting(empty)}, seconds=100)
    with person(browser, empty.url) as page:
        expect(page.get_by_role("button", name="Approve", exact=True).first).to_be_visible()
        page.locator("#questions").evaluate("heading => heading.scrollIntoView()")
        page.screenshot(path=pictures / "inbox.png")


def test_an_expert_asks_in_the_chat_and_is_answered_there(
    browser: Browser, empty: Running, pictures: Path
) -> None:
    """The picture of docs/chat.md: an answer of the main agent, and a question that came by itself."""
    (empty.home.root / "talk.yaml").write_text(json.dumps({"replies": [{"text": PIPELINE}]}))
    practice = PracticeSetup(empty.home, empty.home.workspace)
    with person(browser, empty.url, path="/chat") as page:
        for typed in ("/model script/talk.yaml", "Which deals need me this week?"):
            page.get_by_label("Message", exact=True).fill(typed)
            page.keyboard.press("Enter")
            expect(page.get_by_label("Message", exact=True)).to_be_empty()
        expect(page.locator("#items")).to_contain_text("Two of the five open deals", timeout=MILLISECONDS)
        event = {"payload": receive_mail(practice.database, *MAILS[2])}
        assert empty.post(f"/api/triggers/{EXPERT}/{TRIGGER}/fire", event).status_code == 202
        card = page.locator(".item article.question", has_text="d-fjordbank")
        expect(card).to_contain_text("Jonas sets a date for the pilot", timeout=MILLISECONDS)
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        page.screenshot(path=pictures / "chat.png")
        card.get_by_role("button", name="Approve", exact=True).click()
        decided = page.locator(".item", has_text="asked about crm.update_deal_stage").last
        expect(decided).to_contain_text("approved by operator", timeout=MILLISECONDS)
        draft = page.locator(".item article.question", has_text="the first works for us")
        draft.get_by_label("What came of it").fill("Sent on")
        [left] = [each for each in waiting(empty) if "first works for us" in json.dumps(each)]
        done = {"decision": "done", "digest": left["digest"], "by": "anna"}
        assert empty.post(f"/api/approvals/{left['id']}", done).status_code == 200
        told = page.locator(".item", has_text="left a draft of email.send").last
        expect(told).to_contain_text("done by anna", timeout=MILLISECONDS)


def waiting(gateway: Running) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = gateway.get("/api/approvals").json()
    return found


def test_an_expert_is_there_so_the_inbox_comes_first(browser: Browser, empty: Running) -> None:
    with person(browser, empty.url) as page:
        expect(page.get_by_role("heading", name="Inbox")).to_be_attached()


def test_only_an_admin_sets_up(browser: Browser, empty: Running) -> None:
    link = empty.post("/api/people", {"name": "anna", "role": "approver"}).json()["path"]
    with person(browser, empty.url, link=link) as page:
        page.goto(empty.url + "/welcome")
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        key = page.locator("input[name=form_key]").first.input_value()
        told = page.request.post(empty.url + "/welcome/office", form={"form_key": key})
        assert told.status == 403
