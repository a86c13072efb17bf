"""A server's question to a person is an approval: stored, checked, answered once, never lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.acceptance.test_with_gateway import serving
from tests.conftest import Colleague
from tests.integration.mcp.support import HERE

ASKING, ANEW = HERE / "asking.py", HERE / "asking_anew.py"


class Desk:
    """A home with one server that asks, and a model that calls it."""

    def __init__(self, colleague: Colleague, root: Path, script: Path, **env: str) -> None:
        self.colleague, self.ledger = colleague, root / "ledger"
        environ = {"LEDGER": str(self.ledger), **env}
        entry = {"command": sys.executable, "args": ["-E", str(script)], "env": environ}
        settings = {
            "mcp": {"servers": {"seats": entry}},
            "agents": {"defaults": {"model": "script/play.yaml"}},
        }
        colleague.home.mkdir(parents=True, exist_ok=True)
        (colleague.home / "colleague.json").write_text(json.dumps(settings))

    def play(self, **arguments: Any) -> None:
        call = {"calls": [{"operation": "seats.book", "arguments": arguments}]}
        document = {"replies": [call, {"text": "Booked."}, *[{"text": "Really."}] * 3]}
        (self.colleague.home / "play.yaml").write_text(json.dumps(document))

    def ask(self) -> dict[str, Any]:
        """A turn that waits for an answer; its question."""
        assert self.colleague("agent", "Book a seat.").code == 4
        return self.question()

    def question(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = json.loads(self.colleague.ok("approval", "list", "--json").out)
        return found[-1]

    def run(self, question: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.colleague.ok("run", "show", question["run_id"], "--json").json
        return found

    def answers(self) -> list[Any]:
        """What the server was told, one line for each booking."""
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]


def test_a_form_is_checked_answered_and_given_to_the_waiting_server(
    colleague: Colleague, tmp_path: Path
) -> None:
    desk = Desk(colleague, tmp_path, ASKING, READS="1")
    desk.play(times=2)
    with serving(colleague):
        asked = desk.ask()
        assert (asked["kind"], asked["operation"], asked["arguments"]) == ("elicitation", "seats.book", {})
        assert "Which seat? (0)" in asked["reasoning"]
        empty = colleague("approve", asked["id"])
        assert empty.code == 1
        assert "seat" in empty.err
        wrong = colleague("approve", asked["id"], "--arguments", '{"seat": "roof"}')
        assert wrong.code == 1
        second = colleague("approve", asked["id"], "--arguments", '{"seat": "aisle"}')
        assert second.code == 4, second.err
        colleague.ok("reject", desk.question()["id"])
    assert desk.answers() == [[{"action": "accept", "content": {"seat": "aisle"}}, {"action": "decline"}]]
    [call] = desk.run(asked)["calls"]
    assert call["status"] == "finished"
    assert "booked" in call["result"]["text"]


def test_without_a_gateway_the_server_is_asked_again_and_the_person_is_not(
    colleague: Colleague, tmp_path: Path
) -> None:
    desk = Desk(colleague, tmp_path, ASKING, READS="1")
    desk.play()
    asked = desk.ask()
    colleague.ok("approve", asked["id"], "--arguments", '{"seat": "window", "bags": 2}')
    assert desk.answers() == [[{"action": "accept", "content": {"seat": "window", "bags": 2}}]]
    assert desk.run(asked)["outcome"] == "completed"


def test_what_may_have_happened_is_asked_about_when_the_server_is_gone(
    colleague: Colleague, tmp_path: Path
) -> None:
    desk = Desk(colleague, tmp_path, ASKING)
    desk.play()
    assert desk.ask()["kind"] == "confirm"
    colleague("approve", desk.question()["id"])
    asked = desk.question()
    assert asked["kind"] == "elicitation"
    colleague("approve", asked["id"], "--arguments", '{"seat": "aisle"}')
    unsure = desk.question()
    assert unsure["kind"] == "uncertain"
    assert "lost with the connection" in unsure["reasoning"]
    assert not desk.ledger.exists()
    colleague.ok("resolve", unsure["id"], "again")
    assert desk.answers() == [[{"action": "accept", "content": {"seat": "aisle"}}]]


def test_an_address_is_shown_and_a_script_is_not(colleague: Colleague, tmp_path: Path) -> None:
    desk = Desk(colleague, tmp_path, ASKING, READS="1")
    desk.play(url="https://pay.example/42")
    asked = desk.ask()
    assert asked["arguments"] == {"url": "https://pay.example/42"}
    colleague.ok("approve", asked["id"])
    assert desk.answers() == [[{"action": "accept"}]]
    desk.play(url="file:///etc/passwd")
    colleague.ok("agent", "Again.", "--session", "agent:main:web:dm:other")
    assert desk.answers()[1] == [{"action": "cancel"}]


def test_a_server_that_never_stops_asking_is_told_no(colleague: Colleague, tmp_path: Path) -> None:
    desk = Desk(colleague, tmp_path, ASKING, READS="1")
    desk.play(times=1000)
    with serving(colleague):
        question = desk.ask()
        for _ in range(9):
            assert colleague("reject", question["id"]).code == 4
            question = desk.question()
        colleague.ok("reject", question["id"])
    [answers] = desk.answers()
    assert [each["action"] for each in answers] == ["decline"] * 10 + ["cancel"] * 990


def test_the_newer_protocol_holds_nothing_open(colleague: Colleague, tmp_path: Path) -> None:
    """Two questions of one answer, each decided by another process, and the call is sent once more."""
    desk = Desk(colleague, tmp_path, ANEW)
    desk.play()
    assert desk.ask()["kind"] == "confirm"
    colleague("approve", desk.question()["id"])
    asked = desk.question()
    assert "Seat of anna?" in asked["reasoning"]
    assert colleague("approve", asked["id"], "--arguments", '{"seat": "1A"}').code == 4
    asked = desk.question()
    assert "Seat of ben?" in asked["reasoning"]
    colleague.ok("approve", asked["id"], "--arguments", '{"seat": "1B"}')
    assert desk.ledger.read_text() == "booked\n"
    [call] = desk.run(asked)["calls"]
    assert '"1A"' in call["result"]["text"]
    assert '"1B"' in call["result"]["text"]


def test_a_run_that_is_cancelled_leaves_no_question(colleague: Colleague, tmp_path: Path) -> None:
    desk = Desk(colleague, tmp_path, ASKING, READS="1")
    desk.play()
    asked = desk.ask()
    colleague.ok("run", "cancel", asked["run_id"])
    left = desk.colleague.ok("approval", "show", asked["id"], "--json").json
    assert left["status"] == "withdrawn"
