"""`colleague agent`: one turn of a session, what it asks for, and what becomes of a message."""

from __future__ import annotations

import json
from typing import Any

import pyjson5
import pytest

from tests.acceptance.held_model import HeldModel, held_model
from tests.acceptance.test_model_trouble import started
from tests.acceptance.test_with_gateway import serving, with_and_without
from tests.conftest import SALES, Colleague, Said
from tests.office import Office, call

WRITES = call("write", "I will note it.", path="SOUL.md", text="Be kind.\n")


@pytest.fixture
def office(colleague: Colleague) -> Office:
    return Office.open(colleague)


def turn(office: Office, text: str, *replies: dict[str, Any], stdin: str = "") -> Said:
    return office.colleague("agent", text, "--model", office.play(*replies), stdin=stdin)


def test_a_parked_call_is_asked_about_and_the_yes_is_a_turn_of_its_own(office: Office) -> None:
    colleague = office.colleague
    soul = colleague.home / "workspace" / "SOUL.md"

    def story() -> tuple[int, str, int, str]:
        soul.unlink(missing_ok=True)
        colleague.ok("session", "reset", "main")
        asked = turn(office, "be kind", WRITES, {"text": "It waits."}, {"text": "It is written."})
        [approval] = office.pending()
        assert f"colleague approve {approval['id'][-8:]}" in asked.err
        assert "Be kind." in asked.err
        assert colleague.ok("session", "show", "--json").json["parked"] == 1
        assert not soul.exists()
        decided = colleague("approve", approval["id"][-8:])
        assert soul.read_text() == "Be kind.\n"
        document = colleague.ok("approval", "show", approval["id"], "--json").json
        assert document["parked"] is True
        assert document["turn_run_id"] == office.last_run()["id"]
        return asked.code, asked.out, decided.code, decided.out

    alone, asked = with_and_without(colleague, story)
    assert alone == asked == (4, "I will note it.\nIt waits.\n", 0, "It is written.\n")


def test_the_next_message_is_answered_while_a_question_waits(office: Office) -> None:
    replies = (WRITES, {"text": "It waits."}, {"text": "Still there."}, WRITES, {"text": "Still waits."})
    assert turn(office, "be kind", *replies).code == 4
    assert turn(office, "hello", *replies).out == "Still there.\n"
    again = turn(office, "be kind", *replies)
    assert again.code == 4, "the same call is parked again, and the same question is shown"
    [approval] = office.pending()
    assert f"colleague approve {approval['id'][-8:]}" in again.err

    there = office.colleague(
        "agent", "be kind", "--session", "telegram:dm:1", "--model", office.play(*replies)
    )
    assert there.code == 4
    assert approval["id"][-8:] not in there.err, "the same question of another session is not this one's"


def test_nothing_is_shown_of_a_silent_answer(office: Office) -> None:
    for text in ("NO_REPLY", "**NO_REPLY**", "HEARTBEAT_OK"):
        office.colleague.ok("session", "set", "main", "--label", "")
        office.colleague("session", "reset", "main")
        said = turn(office, "anything new?", {"text": text})
        assert (said.code, said.out) == (0, "")
        assert "nothing is shown: the agent answered" in said.err
    office.colleague("session", "reset", "main")
    assert turn(office, "and now?", {"text": "Lunch is ready. NO_REPLY"}).out == "Lunch is ready.\n"


def test_the_message_is_read_from_stdin(office: Office) -> None:
    assert turn(office, "-", {"text": "Read."}, stdin="several\nlines\n").out == "Read.\n"
    [message] = [
        each
        for each in office.colleague.ok("session", "show", "--json").json["messages"]
        if each["role"] == "user"
    ]
    assert message["text"] == "several\nlines\n"
    assert turn(office, "-", {"text": "Read."}, stdin="").code == 2


def test_a_message_is_kept_when_nothing_can_work_on_it(office: Office) -> None:
    """It is stored before what works on it is opened."""
    catalogue = office.colleague.home / "workspace" / "EXPERTS.md"
    catalogue.unlink(missing_ok=True)
    catalogue.mkdir(parents=True)
    said = turn(office, "hi", {"text": "Good morning."})
    [run] = office.colleague.ok("run", "list", "--json").json
    ending = run["id"][-8:]
    assert (said.code, run["status"]) == (1, "queued")
    assert f"run {ending} stays queued; go on with: colleague run resume {ending}" in said.err
    catalogue.rmdir()
    assert office.colleague("run", "resume", ending).out == "Good morning.\n"


def test_sessions_are_named_by_key_label_agent_or_expert(office: Office) -> None:
    colleague, model = office.colleague, office.play({"text": "Hello."}, {"text": "Again."})
    office.employ(SALES)
    key = "agent:main:terminal:dm:work"
    assert colleague("agent", "hi", "--session", key, "--model", model).out == "Hello.\n"
    colleague.ok("session", "set", key, "--label", "work")
    assert colleague("agent", "hi", "--session", "work", "--model", model).out == "Again.\n"
    assert colleague("agent", "hi", "--session", "work", "--expert", SALES).code == 2
    assert colleague("agent", "hi", "--expert", "nobody", "--model", model).code == 1
    nobody = colleague("agent", "hi", "--agent", "nobody", "--model", model)
    assert (nobody.code, nobody.out) == (1, "")
    assert "nobody" in nobody.err
    assert [each["key"] for each in colleague.ok("session", "list", "--json").json] == [key]


def use_held_model(colleague: Colleague, model: HeldModel) -> None:
    file = colleague.home / "colleague.json"
    settings = pyjson5.decode(file.read_text())
    entry = {"baseUrl": f"{model.url}/v1", "apiKey": "sk-test", "api": "openai-completions"}
    settings["models"] = {"providers": {"local": entry | {"models": [{"id": "m1"}]}}}
    settings["agents"] = {"defaults": {"model": "local/m1"}}
    file.write_text(json.dumps(settings))


@pytest.mark.parametrize("mode", ["queue", "followup", "collect", "steer", "interrupt"])
def test_a_message_during_a_turn_waits_for_its_own_answer(office: Office, mode: str) -> None:
    colleague = office.colleague
    colleague.ok("session", "set", "main", "--queue-mode", mode)
    with held_model() as model:
        use_held_model(colleague, model)
        with serving(colleague), started(colleague, "agent", "slow") as first:
            model.asked(0)
            with started(colleague, "agent", "quick") as second:
                second.until(lambda each: any("Waiting" in line or "run " in line for line in each.err))
                if mode != "interrupt":
                    model.say(0, "Slowly.")
                assert model.told(1) == ["slow", "quick"]
                model.say(1, "Quickly.")
                second.until(lambda each: "Quickly.\n" in each.out)
                said = list(second.err)
            first.child.wait(120)
    told = {"collect": "together with what else comes", "steer": "reads it before its next step"}
    waits = told.get(mode, "gets a turn of its own")
    assert mode == "interrupt" or any(waits in line for line in said)
    runs = colleague.ok("run", "list", "--json").json
    expected = ["completed", "cancelled"] if mode == "interrupt" else ["completed", "completed"]
    assert [run["outcome"] for run in runs] == expected


def test_a_message_that_is_denied_says_why(office: Office) -> None:
    office.colleague.ok("session", "set", "main", "--send-policy", "deny")
    said = turn(office, "hello", {"text": "Never."})
    assert (said.code, said.out) == (1, "")
    assert "the send policy denies it" in said.err
