"""`privateEgress: "ask"`: a person is asked before any text of an expert with private knowledge leaves."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import json5
import pytest

from tests.acceptance.confidant import ASSESSED, OUTPUTS, TICKET, package_with_secrets
from tests.acceptance.test_expert import replace
from tests.conftest import Colleague
from tests.office import DESK, Office, call, finished

LOOK = call("tickets.get_ticket", ticket_id="T-1001")
HARMLESS = {"classification": {}, "assessment": {}, "outcome": {}}
COMPLETE = finished("All is well.", steps=9, outputs=HARMLESS)
ASSESS = call("function.assess-refund", ticket_id="T-1001", kind="damaged", today="2026-11-15")
CHILD = call("complete", narrative="x", outputs=ASSESSED | {"reason": "Line 1.", "missing": ""}) | {
    "when": "Apply assess-refund"
}


@pytest.fixture
def office(colleague: Colleague, tmp_path: Path) -> Office:
    """The desk delivers to a channel outside, and says so in a version that was accepted."""
    office = Office.open(colleague)
    package = package_with_secrets(tmp_path)
    for file in (package / "expert.yaml", *(package / "processes").glob("*.md")):
        text = (
            file.read_text().replace("channel: main", "channel: slack").replace("timeout: 1s", "timeout: 8h")
        )
        file.write_text(text)
    office.employ(DESK, package)
    return office


def configure(office: Office, **experts: Any) -> None:
    file = office.colleague.home / "colleague.json"
    file.write_text(json.dumps(json5.loads(file.read_text()) | {"experts": experts}))


def ask(office: Office) -> None:
    configure(office, privateEgress="ask")


def obey(office: Office, *replies: dict[str, Any]) -> list[tuple[str, str]]:
    office.run(DESK, *TICKET, model=office.play(*replies, CHILD))
    called = [(each["operation"], each["status"]) for each in office.last_run()["calls"]]
    return [each for each in called if each[0] != "mark_step"]


def channels(office: Office) -> list[tuple[str, str]]:
    with sqlite3.connect(office.colleague.home / "state" / "colleague.sqlite") as db:
        return list(db.execute("SELECT kind, channel FROM outbox ORDER BY created_at, id"))


def test_by_default_the_filter_is_all(office: Office) -> None:
    assert obey(office, LOOK, COMPLETE) == [("tickets.get_ticket", "finished"), ("complete", "finished")]
    assert channels(office) == [("delivery", "slack")]


def test_reading_from_a_server_asks(office: Office) -> None:
    ask(office)
    assert obey(office, LOOK, COMPLETE) == [("tickets.get_ticket", "asked")]
    [asked] = office.pending()
    assert (asked["kind"], asked["operation"]) == ("confirm", "tickets.get_ticket")
    assert channels(office) == [("approval", "main")]


def test_the_result_asks_and_leaves_after_a_yes(office: Office) -> None:
    ask(office)
    assert obey(office, COMPLETE) == [("complete", "asked")]
    [asked] = office.pending()
    assert asked["arguments"]["narrative"] == "All is well."
    office.colleague.ok("approve", asked["id"])
    assert channels(office) == [("approval", "main"), ("delivery", "slack")]


def test_after_a_no_nothing_leaves(office: Office) -> None:
    ask(office)
    obey(office, COMPLETE)
    office.colleague("reject", office.pending()[0]["id"])
    assert {channel for _, channel in channels(office)} == {"main"}


def test_a_function_inside_the_run_is_not_the_result(office: Office) -> None:
    """Its outputs stay in the run; a yes to them is no yes to the delivery."""
    ask(office)
    assert obey(office, ASSESS, {"text": "Done."}, {"text": "Done."})[:2] == [
        ("function.assess-refund", "finished"),
        ("complete", "finished"),
    ]
    assert {channel for _, channel in channels(office)} == {"main"}


def test_a_task_that_ends_with_words_stays_in_main(office: Office) -> None:
    ask(office)
    office.run(DESK, "What is new?", model=office.play({"text": "Nothing."}))
    assert channels(office) == [("delivery", "main")]


def test_failures_questions_and_drafts_stay_in_main(office: Office) -> None:
    ask(office)
    obey(office, call("mark_step", step=1, status="failed", note="It is closed."))
    obey(office, call("escalate", reason="Unclear.", recommendation="Wait."))
    assert {channel for _, channel in channels(office)} == {"main"}
    assert {kind for kind, _ in channels(office)} == {"escalation", "approval"}


@pytest.mark.parametrize(("settings", "binding", "asks"), [("ask", "filter", False), ("filter", "ask", True)])
def test_an_expert_may_have_its_own_word(office: Office, settings: str, binding: str, asks: bool) -> None:
    configure(office, privateEgress=settings)
    bindings = office.colleague.home / "experts" / DESK / "bindings.yaml"
    bindings.write_text(f"{bindings.read_text()}\nprivate_egress: {binding}\n")
    assert obey(office, LOOK, COMPLETE)[0] == ("tickets.get_ticket", "asked" if asks else "finished")


def test_an_expert_without_private_knowledge_is_not_concerned(colleague: Colleague, tmp_path: Path) -> None:
    office = Office.open(colleague)
    package = package_with_secrets(tmp_path)
    replace(package / "knowledge" / "refund-limits.md", "type: private", "type: static")
    office.employ(DESK, package)
    ask(office)
    assert obey(office, LOOK, COMPLETE)[0] == ("tickets.get_ticket", "finished")


def test_the_filter_holds_as_well(office: Office) -> None:
    ask(office)
    secret = finished("KESTREL-7Q4X-ZW", steps=9, outputs=OUTPUTS)
    obey(office, secret)
    shown = json.dumps(office.pending())
    assert "7Q4X" not in shown
    office.colleague.ok("approve", office.pending()[0]["id"])
    with sqlite3.connect(office.colleague.home / "state" / "colleague.sqlite") as db:
        assert "7Q4X" not in json.dumps(list(db.execute("SELECT body FROM outbox")))
