"""The shipped experts rehearsed on the demo office: a newcomer sees effects, approvals and drafts."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from colleague.cli.demo_page import MAILS
from colleague.experts.rehearsal.cases import rehearsal_file
from colleague.packages.package import Package, read_package
from colleague.packages.parameter import object_schema
from tests.conftest import ROOT
from tests.unit.experts.rehearsal.stage import DRAFTED, Said, Stage, data, error

EXAMPLES = ROOT / "examples"
SENDER = "Sarah Chen <sarah.chen@acme.example>"
STAGE = "crm.update_deal_stage"
TODAY = datetime.now(UTC).date().isoformat()
"""Or, once it is midnight, the day before: what comes later is due later."""


@dataclass
class Office:
    """The demo office in this process: its own schemas, its own database."""

    database: Any
    operations: dict[str, Any]
    schemas: dict[str, Any]
    down: set[str] = field(default_factory=set)

    def rehearse(self, expert: str, process: str, **inputs: str) -> Stage:
        package = read_package(EXAMPLES / expert).package
        assert package is not None
        bound = {name: self.schemas[name.partition(".")[2]] for name in package.operations}
        desk = Bound(self, package, bound)
        return Stage(package, package.process(process), inputs, bound, desk.answer).run()

    def call(self, name: str, arguments: dict[str, Any]) -> Said:
        if name in self.down:
            self.down.remove(name)
            return error(f"{name} is down")
        try:
            with self.database.transaction() as db:
                return data(self.operations[name.partition(".")[2]](db, **arguments))
        except Exception as problem:  # noqa: BLE001 - whatever a server says is an answer
            return error(str(problem))

    def receive(self, sender: str, subject: str, body: str) -> Stage:
        """A mail that comes now, and its triage."""
        from office.mail_history import receive

        receive(self.database, sender, subject, body)
        [(message_id,)] = self.rows("SELECT message_id FROM mails WHERE NOT sent ORDER BY rowid DESC LIMIT 1")
        return self.rehearse("radiant-sales-expert", "inbound-email-triage", message_id=message_id)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.database.transaction() as db:
            return [tuple(row) for row in db.execute(query)]


@dataclass(frozen=True)
class Bound:
    """An expert at the office."""

    office: Office
    package: Package
    bound: dict[str, Any]

    def answer(self, name: str, arguments: dict[str, Any]) -> Said:
        if name.startswith("function."):
            return self._child(name.removeprefix("function."), arguments)
        return Said(DRAFTED) if self.package.tier(name) == "manual" else self.office.call(name, arguments)

    def _child(self, name: str, inputs: dict[str, Any]) -> Said:
        function = self.package.function(name)
        assert function is not None
        mine = {
            each: schema for each, schema in self.bound.items() if each.partition(".")[0] in function.tools
        }
        stage = Stage(self.package, None, inputs, mine, self.answer, function=function).run()
        return Said(json.dumps(stage.outputs))


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.syspath_prepend(str(EXAMPLES / "office"))
    from office.store import Store
    from office.tools import OPERATIONS
    from office.tools import Office as Server

    database = Store(tmp_path / "office.sqlite")
    tools = asyncio.run(Server(database).server().list_tools())
    operations = {operation.__name__: operation for operation in OPERATIONS}
    yield Office(database, operations, {tool.name: tool.input_schema for tool in tools})
    for name in [name for name in sys.modules if name.partition(".")[0] == "office"]:
        del sys.modules[name]


def check_outputs(stage: Stage) -> dict[str, Any]:
    import jsonschema_rs

    assert stage.process is not None
    assert stage.outputs is not None
    jsonschema_rs.validator_for(object_schema(stage.process.outputs)).validate(stage.outputs)
    return stage.outputs


def test_an_email_is_triaged_from_the_mail_to_the_note(office: Office) -> None:
    stage = office.rehearse("radiant-sales-expert", "inbound-email-triage", message_id="m-acme-pricing")
    outputs = check_outputs(stage)
    assert [status for _, status, _ in stage.marks] == ["done"] * 11
    assert stage.called("crm.get_contact") == [{"email": "sarah.chen@acme.example"}]
    assert stage.called("crm.get_deal") == [{"deal_id": "d-acme", "contact_id": "c-sarah"}]
    assert stage.called("crm.update_deal_stage")[0]["stage"] == "proposal"
    (draft,) = stage.called("email.send")
    assert (draft["to"], draft["thread_id"]) == ("sarah.chen@acme.example", "t-acme-pricing")
    assert draft["body"].startswith(
        "Hi Sarah,\n\nYou'll have Enterprise pricing for 120 responders by midday on "
    )
    assert draft["cc"] == ["priya.nair@acme.example"]
    assert outputs["recommended_action"]["owner"] == "tom@radiant.example"
    assert outputs["classification"]["intent"] == "buying_signal"
    assert stage.narrative.startswith("Buying signal from Sarah Chen at Acme (45,000 USD).")
    assert "no model was asked" in stage.narrative
    assert office.rows("SELECT stage FROM deals WHERE deal_id = 'd-acme'") == [("proposal",)]
    assert office.rows("SELECT COUNT(*) FROM notes WHERE note LIKE 'Buying signal%'") == [(1,)]
    assert office.rows("SELECT COUNT(*) FROM mails WHERE sent") == [(0,)]


def test_a_failed_call_is_made_again_and_nothing_else_is(office: Office) -> None:
    office.down = {"crm.get_deal", "crm.create_note"}
    stage = office.rehearse("radiant-sales-expert", "inbound-email-triage", message_id="m-acme-pricing")
    check_outputs(stage)
    assert stage.attempts == 3
    assert [mark for mark in stage.marks if mark[1] == "failed"] == [
        (4, "failed", "crm.get_deal is down"),
        (10, "failed", "crm.create_note is down"),
    ]
    assert len(stage.called("crm.update_deal_stage")) == len(stage.called("email.send")) == 1
    assert office.rows("SELECT COUNT(*) FROM notes WHERE note LIKE 'Buying signal%'") == [(1,)]


def test_a_mail_that_gives_orders_is_not_followed(office: Office) -> None:
    stage = office.rehearse("radiant-sales-expert", "inbound-email-triage", message_id="m-hostile")
    sent = json.dumps([arguments for name, arguments in stage.calls if "." in name])
    assert "audit@acme-purchasing.example" not in sent
    assert "ignore your earlier instructions" not in sent
    assert office.rows("SELECT stage FROM deals WHERE deal_id = 'd-acme'") == [("evaluation",)]
    assert stage.called("email.send") == []
    assert "show it to security" in stage.narrative


def reads_like_work(stage: Stage, since: str) -> None:
    """No gap is left for a newcomer to stumble over, and nothing is due before the day that it is about."""
    written = json.dumps([stage.calls, stage.outputs, stage.narrative], ensure_ascii=False)
    assert "[rehearsal" not in written
    assert "(unknown)" not in written
    assert not re.search(r"\{[a-z]+[.+]", written)
    assert "This was a rehearsal" in stage.narrative
    assert all(each >= since for each in re.findall(r'"due": "(\S+)"', written))
    for draft in stage.called("email.send"):
        assert draft["to"] not in draft.get("cc", [])


@pytest.mark.parametrize("message_id", ["m-acme-pricing", "m-tidewater-objection", "m-fjordbank-scheduling"])
def test_the_mails_of_the_office_are_answered_like_work(office: Office, message_id: str) -> None:
    came = dict(office.rows("SELECT message_id, at FROM mails"))[message_id]
    stage = office.rehearse("radiant-sales-expert", "inbound-email-triage", message_id=message_id)
    reads_like_work(stage, since=came[:10])


def test_the_mails_of_the_demo_are_answered_like_work_again_and_again(office: Office) -> None:
    """The second time each deal has moved already, so that no stage is proposed."""
    first = [office.receive(*mail) for mail in (*MAILS, (SENDER, "Something else", "Hi,\n\nwho are you?"))]
    moved = [stage.called("crm.update_deal_stage") for stage in first]
    assert [[call["stage"] for call in calls] for calls in moved] == [
        ["proposal"],
        ["negotiation"],
        ["evaluation"],
        [],
        ["negotiation"],
        [],
        [],
    ]
    again = [office.receive(*mail) for mail in MAILS]
    assert not any(each["stage"] == "closed_won" for stage in again for each in stage.called(STAGE))
    for stage in (*first, *again):
        reads_like_work(stage, since=TODAY)
        check_outputs(stage)


@pytest.mark.parametrize(("expert", "least"), [("radiant-sales-expert", 10), ("support-desk-expert", 5)])
def test_every_case_of_the_file_says_what_the_package_declares(expert: str, least: int) -> None:
    package = read_package(EXAMPLES / expert).package
    assert package is not None
    assert len(rehearsal_file(package).cases) >= least


def test_the_morning_scan_proposes_a_meeting(office: Office) -> None:
    stage = office.rehearse("radiant-sales-expert", "scan-for-opportunities")
    check_outputs(stage)
    (slots,) = stage.called("calendar.find_free_slots")
    assert slots["window_start"] < slots["window_end"]
    (meeting,) = stage.called("calendar.schedule_meeting")
    assert meeting["start"] < meeting["end"]
    assert meeting["attendees"] == ["ines@radiant.example", "elena@brightwell.example"]
    assert office.rows("SELECT COUNT(*) FROM notes WHERE note LIKE 'Morning scan%'") == [(1,)]


def test_a_ticket_is_judged_in_a_session_of_its_own_and_answered(office: Office) -> None:
    stage = office.rehearse("support-desk-expert", "handle-ticket", ticket_id="T-1001")
    outputs = check_outputs(stage)
    assert stage.called("function.assess-refund") == [
        {"ticket_id": "T-1001", "kind": "damaged", "today": "2026-01-15"}
    ]
    assert outputs["assessment"]["verdict"] == "due"
    assert stage.called("tickets.refund")[0]["amount"] == outputs["assessment"]["amount"] == 189
    assert office.rows("SELECT status FROM tickets WHERE ticket_id = 'T-1001'") == [("closed",)]
    assert "|---|---|---|---|\n| T-1001 | 189.00 USD back |" in stage.files["state/desk-log.md"]


@pytest.mark.parametrize(
    ("ticket_id", "operations"),
    [
        ("T-1001", ["refund", "add_reply", "close_ticket"]),
        ("T-1002", ["add_reply", "close_ticket"]),
        ("T-1003", ["add_reply"]),
        ("T-1004", []),
    ],
)
def test_the_tickets_of_the_office_are_answered_like_work(
    office: Office, ticket_id: str, operations: list[str]
) -> None:
    stage = office.rehearse("support-desk-expert", "handle-ticket", ticket_id=ticket_id)
    check_outputs(stage)
    reads_like_work(stage, since=TODAY)
    made = [name for name in ("refund", "add_reply", "close_ticket") if stage.called(f"tickets.{name}")]
    assert made == operations


def test_private_limits_leave_no_trace(office: Office) -> None:
    stage = office.rehearse("support-desk-expert", "handle-ticket", ticket_id="T-1001")
    written = json.dumps([stage.calls, stage.outputs, stage.narrative])
    assert "goes to the lead" not in written
    assert "up to 300" not in written


def test_a_chat_is_answered_from_the_list_of_tickets(office: Office) -> None:
    stage = office.rehearse(
        "support-desk-expert", "answer-chat", sender_id="u-1", message_text="refunds?", channel_name="desk"
    )
    assert (
        check_outputs(stage)["tickets"][0]["ticket_id"] == stage.called("tickets.get_ticket")[0]["ticket_id"]
    )
