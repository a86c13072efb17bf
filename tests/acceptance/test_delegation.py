"""An agent that people talk to hands work to experts and sub-agents, as a person at a terminal sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import SALES, Colleague
from tests.office import Office, call, calls

ANSWER = "Five open deals, worth $212k; Acme is the next to close."


@pytest.fixture
def sales(colleague: Colleague) -> Office:
    office = Office.open(colleague)
    office.employ(SALES)
    return office


def bind_model(office: Office, model: str, **more: Any) -> None:
    file = office.colleague.home / "experts" / SALES / "bindings.yaml"
    file.write_text(
        file.read_text() + f"\nmodel: {model}\n" + "".join(f"{k}: {v}\n" for k, v in more.items())
    )


def runs_of(colleague: Colleague) -> list[dict[str, Any]]:
    briefs = colleague.ok("run", "list", "--json").json
    return [colleague.ok("run", "show", each["id"], "--json").json for each in reversed(briefs)]


def test_a_question_about_the_pipeline_is_answered_by_the_expert(sales: Office) -> None:
    colleague = sales.colleague
    bind_model(sales, sales.play(call("read", path="state/pipeline.md"), {"text": ANSWER}, name="expert"))
    main = sales.play(
        call("sessions_send", label=f"expert:{SALES}", message="Summarise the open pipeline."),
        {"when": "Five open deals", "text": f"Your pipeline: {ANSWER}"},
        name="main",
    )

    said = colleague("agent", "What's my pipeline looking like?", "--model", main)

    assert said.code == 0, said.err
    assert f"Your pipeline: {ANSWER}" in said.out
    turn, task = runs_of(colleague)
    assert task["parent_run"] == turn["id"]
    assert turn["child_runs"] == [task["id"]]
    assert task["session_key"].startswith(f"agent:main:expert:{SALES}:task:")
    assert task["outcome"] == "completed"
    assert task["delivery"] is None
    asked = json.loads((colleague.home / "expert.log").read_text().splitlines()[0])["last"]
    assert asked.startswith("Summarise the open pipeline.")
    assert "user: What's my pipelin" in asked
    assert task["id"][-8:] in colleague.ok("run", "show", turn["id"]).out


def test_a_child_that_needs_a_yes_does_not_hold_the_conversation(sales: Office) -> None:
    colleague = sales.colleague
    stage = {"deal_id": "d-acme", "stage": "proposal", "reason": "She asks for a price."}
    bind_model(
        sales, sales.play(call("crm.update_deal_stage", **stage), {"text": "Acme is moved."}, name="expert")
    )
    main = sales.play(
        call("sessions_send", label=f"expert:{SALES}", message="Move Acme to proposal."),
        {"when": "waits for a person", "text": "It waits for your yes."},
        {"when": "Acme is moved", "text": "Done: Acme is in proposal."},
        name="main",
    )
    said = colleague("agent", "Move Acme", "--model", main)
    assert "It waits for your yes." in said.out, said.err
    [question] = sales.pending()

    colleague("approve", question["id"])

    assert sales.effects == ["update_deal_stage"]
    turns = [each for each in runs_of(colleague) if each["kind"] == "agent"]
    assert [each["narrative"] for each in turns] == ["It waits for your yes.", "Done: Acme is in proposal."]


def test_sub_agents_tell_what_they_came_to_as_turns_of_their_own(colleague: Colleague) -> None:
    office = Office.open(colleague)
    child = office.play({"text": "A is 1."}, name="child")
    main = office.play(
        calls(
            ("sessions_spawn", {"task": "Look up A", "model": child, "label": "a"}),
            ("sessions_spawn", {"task": "Look up A again", "model": child}),
        ),
        {"when": "Started agent:main", "text": "I am on it."},
        {"when": "A is 1", "text": "A is one."},
        name="main",
    )

    said = colleague("agent", "What is A?", "--model", main)

    assert said.code == 0, said.err
    assert "I am on it." in said.out
    found = runs_of(colleague)
    assert [each["kind"] for each in found].count("subagent") == 2
    turns = [each["narrative"] for each in found if each["kind"] == "agent"]
    assert turns == ["I am on it.", "A is one.", "A is one."]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"sessionKey": "agent:main:main", "message": "hello"}, "your own session"),
        ({"label": "nobody", "message": "hello"}, "no session with the label"),
        ({"label": "expert:nobody", "message": "hello"}, "nobody"),
        ({"message": "hello"}, "either a label or a sessionKey"),
        ({"sessionKey": "agent:other:main", "message": "hello"}, "agentToAgent"),
    ],
)
def test_what_cannot_be_sent_is_said_in_words(
    colleague: Colleague, arguments: dict[str, Any], why: str
) -> None:
    office = Office.open(colleague)
    main = office.play(call("sessions_send", **arguments), {"text": "I cannot."}, name="main")

    assert colleague("agent", "go", "--model", main).code == 0

    [refused] = office.last_run()["calls"]
    assert refused["status"] == "not_run"
    assert why in refused["result"]["text"]
