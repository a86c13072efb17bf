"""Pushes of Google against a real gateway and the office: repeated, foreign, broken, many, interrupted."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.served_office import ServedOffice, push
from tests.conftest import EXAMPLE, SALES, Colleague


@pytest.fixture
def sales(colleague: Colleague) -> ServedOffice:
    """Enabled, with a model that says nothing: this is about what comes in."""
    sales = ServedOffice.open(colleague, None)
    sales.play({"text": "It is read."})
    sales.type("expert", "enable", SALES)
    return sales


def mails(sales: ServedOffice) -> list[str]:
    """Of each run so far the mail it is about; the schedule of the package may have made others."""
    found = [sales.get(f"/api/runs/{each['id']}")["inputs"] for each in sales.get("/api/runs")]
    return sorted(each["message_id"] for each in found if "message_id" in each)


def test_each_mail_once_over_pushes_that_come_again_and_out_of_order(sales: ServedOffice) -> None:
    with sales.serving():
        assert sales.resolved(push("1", 1004))["reason"] == "1 new messages, 0 known ones"
        second, third = sales.receive("Ada <ada@acme.example>"), sales.receive("Bob <bob@acme.example>")
        assert sales.resolved(third)["reason"].startswith("2 new messages")
        assert sales.resolved(second)["outcome"] == "completed"
        assert sales.post("/hooks/gmail", third).status_code == 200
        assert mails(sales) == ["m-acme-pricing", "m-received-5", "m-received-6"]
        assert sales.resolved(push("made up", 99_999))["outcome"] == "completed"
        assert sales.resolved(push("after it", 1001))["outcome"] == "completed", "a list serves as well"
        assert len(mails(sales)) == 3
        assert "Skipped" not in sales.type("status").out, "a known mail is nothing to look at"


def test_what_is_no_push_is_turned_away(sales: ServedOffice) -> None:
    def with_data(data: Any) -> dict[str, Any]:
        return {"message": {"data": data, "messageId": "x"}, "subscription": "s"}

    with sales.serving():
        for data in ("%%%", "", None, 7, "bm90IGpzb24=", "W10=", "e30=", "A" * 20_000, "eyJ" * 900):
            answer = sales.post("/hooks/gmail", with_data(data))
            assert (answer.status_code, "Pub/Sub" in answer.text) == (400, True), data
        assert sales.post("/hooks/gmail", push("2", 5), Authorization="Bearer no").status_code == 401
        good = {"x-openclaw-token": "a-token-of-all-hooks"}
        assert sales.post("/hooks/gmail", push("3", 1001), **good).status_code == 202
        assert len(sales.type("event", "list", "--json").json) <= 2


def test_a_mailbox_that_nobody_knows_is_seen_while_it_is_tried_again(sales: ServedOffice) -> None:
    with sales.serving():
        [accepted] = sales.post("/hooks/gmail", push("4", 1001, "eve@elsewhere.example")).json()["events"]
        told = "there is no mailbox eve@elsewhere.example in this office"
        sales.until(lambda: told in (sales.get(f"/api/events/{accepted['event_id']}")["reason"] or ""))
        assert (
            f"Not looked up yet: event {accepted['event_id'][-8:]} of {SALES}: " in sales.type("status").out
        )
        assert told in sales.type("event", "list").out
        assert mails(sales) == []
        assert sales.resolved(push("5", 1001))["outcome"] == "completed", "it holds up no other"


def test_a_thousand_mails_since_the_last_push(sales: ServedOffice) -> None:
    with sales.serving():
        sales.resolved(push("6", 1004))
        with sqlite3.connect(sales.office.database) as db:
            db.row_factory = sqlite3.Row
            row = dict(db.execute("SELECT * FROM mails WHERE message_id = 'm-acme-pricing'").fetchone())
            for number in range(1000):
                new = row | {"message_id": f"n-{number}", "from_email": f"n{number}@acme.example"}
                marks = ", ".join("?" * len(new))
                db.execute(f"INSERT INTO mails ({', '.join(new)}) VALUES ({marks})", tuple(new.values()))  # noqa: S608
        told = sales.resolved(push("7", 2004))
        assert told["reason"] == "1000 new messages, 0 known ones"
        found = sales.office.colleague.ok("event", "list", "--limit", "2000", "--json").json
        assert sum(each["trigger"] == "new_email" for each in found) == 1001


def test_an_office_that_is_killed_meanwhile_is_asked_again(colleague: Colleague) -> None:
    sales = ServedOffice.open(colleague, None, "--slow", "list_messages=3")
    sales.play({"text": "It is read."})
    sales.type("expert", "enable", SALES)
    with sales.serving():
        [accepted] = sales.post("/hooks/gmail", push("8", 1001)).json()["events"]
        pid = sales.until(lambda: office_pid(sales.office.database))
        os.kill(pid, signal.SIGKILL)
        event = sales.until(lambda: sales._ended(accepted["event_id"]))
        assert (event["outcome"], event["reason"]) == ("completed", "1 new messages, 0 known ones")
        assert mails(sales) == ["m-acme-pricing"]


def office_pid(database: Path) -> int | None:
    """The process that serves this file, once it has been asked."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        if str(database).encode() in words:
            return int(folder.name)
    return None


def test_two_experts_with_the_same_preset_each_get_each_mail(sales: ServedOffice) -> None:
    sales.type("expert", "install", str(EXAMPLE), "--name", "second-desk")
    for tool in ("crm", "email", "calendar"):
        sales.type("expert", "bind", "second-desk", tool, "office")
    sales.play({"text": "It is read, too."}, expert="second-desk")
    sales.type("expert", "enable", "second-desk")
    with sales.serving():
        answer = sales.post("/hooks/gmail", push("9", 1001)).json()["events"]
        assert {each["expert"] for each in answer} == {SALES, "second-desk"}
        for each in answer:
            sales.until(lambda each=each: sales._ended(each["event_id"]))  # type: ignore[misc]
        assert mails(sales) == ["m-acme-pricing"] * 2


def test_what_cannot_be_looked_up_is_skipped_and_status_says_so(sales: ServedOffice) -> None:
    file = sales.colleague.expert() / "bindings.yaml"
    gone = {"list_history": "gone", "list_messages": "gone"}
    text = file.read_text().replace("server: office", f"server: office\n    operations: {json.dumps(gone)}")
    file.write_text(text)
    with sales.serving():
        event = sales.resolved(push("10", 1001))
        assert (event["status"], event["outcome"]) == ("skipped", "skipped")
        told = "has no operation that lists new messages"
        assert told in event["reason"]
        assert f"Skipped lately: 1 event of {SALES}/gmail: " in sales.type("status").out
        assert f"Skipped lately: 1 event of {SALES}/gmail: " in sales.type("event", "list").err
        assert told in sales.type("status").out
        assert told in sales.type("event", "list").out
        [skipped] = sales.type("status", "--json").json["skipped"]
        assert (skipped["expert"], skipped["count"]) == (SALES, 1)
