"""What runs tell, from the outside: it waits until somebody has read it, and only then it is delivered."""

from __future__ import annotations

import getpass
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_serve import Process, serving
from tests.conftest import Colleague
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import ENVIRON, House

ME = getpass.getuser()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home").furnish()


def type_(house: House, *arguments: str) -> Any:
    return Colleague(house.root).ok(*arguments, **ENVIRON)


def told(process: Process, number: str) -> dict[str, Any]:
    """The event of an order, once its run is done and its delivery is where it waits."""
    accepted = process.hook("order", {"id": number}).json()
    process.ended(accepted["run_id"])
    for _ in range(1200):
        event: dict[str, Any] = process.get(f"/api/events/{accepted['event_id']}")
        if event["delivery"]["error"]:
            return event
        time.sleep(0.1)
    raise AssertionError(event)


def test_what_a_webhook_brought_about_waits_for_a_reader(house: House) -> None:
    with serving(house) as process:
        event = told(process, "o-1")
        assert set(event) >= {"accepted", "run", "delivery"}
        assert event["run"]["outcome"] == "completed"
        delivery = event["delivery"]
        assert (delivery["status"], delivery["error"]) == ("waiting", "main has no reader yet")
        assert delivery["at"] is None
        shown = type_(house, "run", "show", event["run"]["id"]).out
        assert "delivery to main: waiting: main has no reader yet" in shown
        assert "It is done." in shown
        assert "waiting to main: main has no reader yet" in type_(house, "event", "show", event["id"]).out
        status = type_(house, "status").out
        assert "Unread: 1 (colleague delivery read ID, or --all)" in status
        assert "It is done." in status
        assert process.get("/api/status")["unread_total"] == 1
        found = {each["message"] for each in Colleague(house.root)("doctor", "--json", **ENVIRON).json}
        assert "1 result is unread" in found

        [listed] = type_(house, "delivery", "list", "--json").json
        ending = listed["id"][-8:]
        assert ending in type_(house, "delivery", "list").out
        assert "It is done." in type_(house, "delivery", "show", ending).out
        assert process.get(f"/api/deliveries/{ending}")["status"] == "waiting", "looking is not reading"

        assert "It is done." in type_(house, "delivery", "read", ending).out

        delivery = process.get(f"/api/events/{event['id']}")["delivery"]
        assert (delivery["status"], delivery["read_by"]) == ("delivered", ME)
        assert process.get("/api/deliveries") == []
        assert "Unread" not in type_(house, "status").out
        assert type_(house, "delivery", "read", "--all").out == "There is nothing to read.\n"
        [listed] = type_(house, "delivery", "list", "--all", "--json").json
        assert (listed["status"], listed["read_by"]) == ("delivered", ME)


def test_all_of_it_is_read_without_a_gateway(house: House) -> None:
    with serving(house) as process:
        for number in range(3):
            told(process, str(number))
    assert type_(house, "delivery", "read", "--all").out.count("It is done.") == 3
    assert type_(house, "status", "--json").json["unread_total"] == 0


def test_whoever_waits_at_the_terminal_has_read_it(house: House) -> None:
    fire = ("trigger", "fire", CLERK, "order", "--json")
    alone = type_(house, *fire, "--payload", '{"id": "1"}').json
    with serving(house):
        through = type_(house, *fire, "--payload", '{"id": "2"}').json
    for document in (alone, through):
        assert (document["delivery"]["status"], document["delivery"]["read_by"]) == ("delivered", ME)
    assert type_(house, "delivery", "list", "--json").json == []


def test_what_is_not_there_or_not_named_is_told(house: House) -> None:
    colleague = Colleague(house.root)
    for wrong, code in ((("read",), 2), (("read", "ffffffff"), 1), (("show", "ffffffff"), 1)):
        said = colleague("delivery", *wrong, **ENVIRON)
        assert (said.code, said.out) == (code, ""), said
    assert "There is nothing to read." in colleague.ok("delivery", "list", **ENVIRON).out
    with serving(house) as process:
        assert "no delivery" in process.get("/api/deliveries/ffffffff")["error"]["message"]
