"""The demo office: a real server, its effects looked up in its own database."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from colleague.mcp.answer import ToolAnswer
from colleague.mcp.servers import Servers
from colleague.packages.package import read_package
from colleague.packages.tool_declaration import Operation
from tests.conftest import Colleague
from tests.forked import forked_command
from tests.integration.mcp.support import Bench, free_port, listening

EXAMPLES = Path(__file__).parents[3] / "examples"
SCRIPT = str(EXAMPLES / "office" / "server.py")
PACKAGES = ["radiant-sales-expert", "support-desk-expert"]
READS = {
    "get_contact",
    "get_deal",
    "list_deals",
    "get_email",
    "find_free_slots",
    "get_ticket",
    "list_tickets",
    "list_history",
    "list_messages",
}
LOOKUPS = {"list_history", "list_messages"}
"""What the runtime asks when mail is announced; no package needs to name them."""
NOTE = {"contact_id": "c-sarah", "deal_id": "d-acme", "note": "asked for a price"}


class OfficeBench(Bench):
    """A bench with an office on it."""

    @property
    def database(self) -> Path:
        return self.root / "office.sqlite"

    def office(self, *flags: str) -> OfficeBench:
        command, *arguments = forked_command(SCRIPT, "--database", str(self.database), *flags)
        self.servers["office"] = {"command": command, "args": arguments}
        return self

    def ledger_rows(self) -> list[tuple[str, dict[str, Any], str | None]]:
        with closing(sqlite3.connect(self.database)) as db:
            rows = db.execute(
                "SELECT operation, arguments, idempotency_key FROM ledger ORDER BY id"
            ).fetchall()
        return [(operation, json.loads(arguments), key) for operation, arguments, key in rows]


class Caller:
    """Calls the office with a new key each time, unless one is given."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.count = 0

    async def answer(self, tool: str, key: str = "", **arguments: Any) -> ToolAnswer:
        self.count += 1
        return await self.servers.call("office", tool, arguments, key=key or f"k{self.count}")

    async def __call__(self, tool: str, key: str = "", **arguments: Any) -> Any:
        answer = await self.answer(tool, key, **arguments)
        assert not answer.is_error, answer.text
        return answer.structured


@pytest.fixture
def bench(tmp_path: Path) -> OfficeBench:
    return OfficeBench(tmp_path)


def declared() -> dict[str, Operation]:
    packages = [read_package(EXAMPLES / name).package for name in PACKAGES]
    tools = [tool for package in packages if package for tool in package.tools]
    return {operation.name: operation for tool in tools for operation in tool.operations}


def test_the_tools_are_the_operations_of_both_packages(bench: OfficeBench) -> None:
    async def work(servers: Servers) -> None:
        tools = {tool.name: tool for tool in await servers.tools("office")}
        operations = declared()
        assert tools.keys() - LOOKUPS == operations.keys()
        for name, operation in operations.items():
            ours, theirs = tools[name].input_schema, operation.input
            assert set(ours.get("required", [])) == set(theirs.get("required", [])), name
            assert ours["properties"].keys() == theirs["properties"].keys(), name
            assert (tools[name].output_schema or {})["properties"].keys() == operation.output[
                "properties"
            ].keys()
        assert {name for name, tool in tools.items() if tool.read_only} == READS
        assert {name for name, tool in tools.items() if tool.idempotent} == {
            "update_deal_stage",
            "close_ticket",
        }

    bench.office().run(work)


def test_sales_work_leaves_its_rows_in_the_ledger(bench: OfficeBench) -> None:
    slot = {"start": "2030-03-04T10:00:00+11:00", "end": "2030-03-04T10:30:00+11:00"}
    window = {"window_start": "2030-03-04T09:00:00+11:00", "window_end": "2030-03-04T12:00:00+11:00"}
    tom = {"attendees": ["tom@radiant.example"], "duration_minutes": 60}

    async def work(servers: Servers) -> None:
        call = Caller(servers)
        mail = await call("get_email", message_id="m-acme-pricing")
        assert "Enterprise pricing for about 120 responders" in mail["body"]
        contact = await call("get_contact", email=mail["from"]["email"])
        assert (contact["company"], contact["open_deal_ids"]) == ("Acme", ["d-acme"])
        deal = await call("get_deal", contact_id=contact["contact_id"])
        assert (deal["stage"], deal["amount"], deal["currency"]) == ("evaluation", 45_000, "USD")
        assert await call("get_contact", email="nobody@nowhere.example") == {}
        assert await call("get_deal", deal_id="d-none") == {}
        assert [each["deal_id"] for each in (await call("list_deals", limit=2))["deals"]] == [
            "d-pinecrest",
            "d-brightwell",
        ]
        moved = await call("update_deal_stage", "k-move", deal_id="d-acme", stage="proposal", reason="asked")
        assert (moved["previous_stage"], moved["stage"]) == ("evaluation", "proposal")
        await call("create_note", "k-note", **NOTE)
        notes = (await call("get_deal", deal_id="d-acme"))["recent_notes"]
        assert notes[0]["note"] == NOTE["note"]
        sent = await call("send", "k-send", to="sarah.chen@acme.example", subject="Re", body="Hello")
        assert (await call("get_email", message_id=sent["message_id"]))["body"] == "Hello"
        await call("schedule_meeting", "k-meet", title="Demo", attendees=["tom@radiant.example"], **slot)
        starts = [each["start"] for each in (await call("find_free_slots", **tom, **window))["slots"]]
        assert starts == [f"2030-03-04T{time}:00+11:00" for time in ("09:00", "10:30", "11:00")]

    bench.office().run(work)
    assert [(operation, key) for operation, _, key in bench.ledger_rows()] == [
        ("update_deal_stage", "k-move"),
        ("create_note", "k-note"),
        ("send", "k-send"),
        ("schedule_meeting", "k-meet"),
    ]
    assert bench.ledger_rows()[1][1] == NOTE


def test_support_work_leaves_its_rows_and_pays_no_more_than_was_paid(bench: OfficeBench) -> None:
    async def work(servers: Servers) -> None:
        call = Caller(servers)
        open_ones = [each["ticket_id"] for each in (await call("list_tickets"))["tickets"]]
        assert sorted(open_ones) == ["T-1001", "T-1002", "T-1003", "T-1004"]
        noor = await call("list_tickets", status="all", customer_email="noor@haddad.example")
        assert [each["ticket_id"] for each in noor["tickets"]] == ["T-0988"]
        paid = await call("refund", ticket_id="T-1001", amount=100, reason="cracked")
        assert (paid["refunded_total"], paid["currency"]) == (100, "USD")
        too_much = await call.answer("refund", ticket_id="T-1001", amount=90, reason="more")
        assert too_much.is_error
        assert "90.00 is more than the 89.00 USD left to refund" in too_much.text
        await call("add_reply", ticket_id="T-1001", body="It is on its way.")
        closed = await call("close_ticket", ticket_id="T-1001", resolution="refunded")
        assert (closed["previous_status"], closed["status"]) == ("open", "closed")
        ticket = await call("get_ticket", ticket_id="T-1001")
        assert (ticket["order"]["refunded"], ticket["resolution"]) == (100, "refunded")
        assert [each["author"] for each in ticket["messages"]] == ["customer", "desk"]
        assert (
            "there is no ticket T-9; list_tickets" in (await call.answer("get_ticket", ticket_id="T-9")).text
        )

    bench.office().run(work)
    assert [operation for operation, *_ in bench.ledger_rows()] == ["refund", "add_reply", "close_ticket"]


def test_a_key_makes_one_effect_also_after_a_restart(bench: OfficeBench) -> None:
    async def work(servers: Servers) -> Any:
        return await Caller(servers)("create_note", "same", **NOTE)

    first = bench.office().run(work)

    async def again(servers: Servers) -> None:
        assert await work(servers) == first
        other = await Caller(servers).answer("create_note", "same", **{**NOTE, "note": "another"})
        assert other.is_error
        assert "the key same was used for another call of create_note; use a new key" in other.text

    bench.office().run(again)
    assert bench.ledger_rows() == [("create_note", NOTE, "same")]


def test_keys_ignored_and_answers_late(bench: OfficeBench) -> None:
    async def work(servers: Servers) -> None:
        call = Caller(servers)
        first = await call("create_note", "same", **NOTE)
        began = time.monotonic()
        assert (await call("add_reply", "r", ticket_id="T-1001", body="Hello"))["reply_id"]
        assert time.monotonic() - began >= 0.3
        assert await call("create_note", "same", **NOTE) != first

    bench.office("--ignore-keys", "--slow", "add_reply=0.3").run(work)
    assert [key for *_, key in bench.ledger_rows()] == ["same", "r", "same"]


def test_failures_are_counted_over_restarts(bench: OfficeBench) -> None:
    bench.office("--fail", "create_note=2", "--fail", "get_deal=1")

    async def fails(servers: Servers) -> None:
        for tool, arguments, words in [
            ("create_note", NOTE, "create_note fails on request, 1 of 2; nothing was changed"),
            ("get_deal", {"deal_id": "d-acme"}, "get_deal fails on request, 1 of 1"),
        ]:
            answer = await Caller(servers).answer(tool, "k", **arguments)
            assert answer.is_error
            assert words in answer.text

    async def fails_once_more(servers: Servers) -> None:
        call = Caller(servers)
        assert "2 of 2" in (await call.answer("create_note", "k", **NOTE)).text
        await call("create_note", "k", **NOTE)
        assert (await call("get_deal", deal_id="d-acme"))["name"]

    bench.run(fails)
    assert bench.ledger_rows() == []
    bench.run(fails_once_more)
    assert bench.ledger_rows() == [("create_note", NOTE, "k")]


def test_over_http(bench: OfficeBench) -> None:
    port = free_port()
    bench.http("office", f"http://127.0.0.1:{port}/mcp")

    async def work(servers: Servers) -> None:
        await Caller(servers)("create_note", "same", **NOTE)
        await Caller(servers)("create_note", "same", **NOTE)

    with listening(port, [SCRIPT], "--database", str(bench.database), "--http", str(port)):
        bench.run(work)
    assert bench.ledger_rows() == [("create_note", NOTE, "same")]


def test_show_and_its_words_for_a_wrong_option(bench: OfficeBench) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "office", "--database", str(bench.database), *arguments]
        return subprocess.run(
            command, cwd=EXAMPLES / "office", capture_output=True, text=True, timeout=240, check=False
        )

    shown = run("--show")
    assert (shown.returncode, shown.stderr) == (0, "")
    for words in (
        "m-acme-pricing",
        "d-acme         evaluation      45,000 USD",
        "T-1001  open",
        "Ledger\n  nothing",
    ):
        assert words in shown.stdout
    assert "'sned' is no operation; they are add_reply, close_ticket" in run("--fail", "sned=1").stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_the_example_packages_have_no_finding(tmp_path: Path, name: str) -> None:
    said = Colleague(tmp_path / "home")("expert", "validate", str(EXAMPLES / name), "--offline", "--json")
    assert (said.code, said.json["findings"]) == (0, [])
