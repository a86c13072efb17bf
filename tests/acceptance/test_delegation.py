"""An agent that people talk to hands work to experts and sub-agents, as a person at a terminal sees it."""

from __future__ import annotations

import json
import re
from typing import Any

import json5
import pytest

from tests.acceptance.held_model import HeldModel, held_model
from tests.conftest import SALES, Colleague
from tests.office import Office, call, calls
from tests.typist import CTRL_D, ENTER, typing

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


def settle(colleague: Colleague, **settings: Any) -> None:
    """Lays settings over those of the home."""
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps(json5.loads(file.read_text()) | settings))


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
    assert f"waits for run {task['id'][-8:]}, which it handed work to" in said.err
    assert task["parent_run"] == turn["id"]
    assert turn["child_runs"] == [task["id"]]
    assert task["session_key"].startswith(f"agent:main:expert:{SALES}:task:")
    assert task["outcome"] == "completed"
    assert task["delivery"] is None
    asked = json.loads((colleague.home / "expert.log").read_text().splitlines()[0])["last"]
    assert asked.startswith("Summarise the open pipeline.")
    assert "user: What's my pipelin" in asked
    assert task["id"][-8:] in colleague.ok("run", "show", turn["id"]).out


def test_two_turns_of_a_chat_of_which_the_second_relies_on_the_first(sales: Office) -> None:
    """The third example of the loader design, with a model that knows only what it is shown."""
    with held_model() as model, typing(_with_model(sales, model), "chat") as person:
        person.until("Ctrl-D leaves")
        person.type("What's my pipeline looking like?", ENTER)
        [label] = set(re.findall(r"expert:[a-z-]+expert", _system(model, 0)))
        _hand_over(model, 0, label, "Summarise the open pipeline.")
        assert "Summarise the open pipeline." in model.told(1)[0]
        model.say(1, ANSWER)
        model.say(2, f"Your pipeline: {_data(model, 2)}")
        person.until("Acme is the next to close.")

        person.type("What does that one wait for?", ENTER)
        before = [each["content"] for each in model.asked(3)["messages"] if each["role"] == "assistant"]
        [deal] = re.findall(r"(\w+) is the next to close", str(before[-1]))
        _hand_over(model, 3, label, f"What does {deal} wait for?")
        assert "What does Acme wait for?" in model.told(4)[0]
        assert "user: What's my pipeline looking like?" in "\n".join(model.told(4))
        model.say(4, "A price for 120 responders.")
        model.say(5, f"It waits for this: {_data(model, 5)}")
        person.until("It waits for this: A price for 120 responders.")
        person.type(CTRL_D)
        assert person.end() == 0
    turns = [each for each in runs_of(sales.colleague) if each["kind"] == "agent"]
    assert [len(each["child_runs"]) for each in turns] == [1, 1]


def _with_model(office: Office, model: HeldModel) -> Colleague:
    entry = {"baseUrl": f"{model.url}/v1", "apiKey": "sk-0123456789", "api": "openai-completions"}
    settle(
        office.colleague,
        agents={"defaults": {"model": {"primary": "held/m1"}}},
        models={"providers": {"held": entry | {"models": [{"id": "m1"}]}}},
    )
    return office.colleague


def _system(model: HeldModel, number: int) -> str:
    return str(model.asked(number)["messages"][0]["content"])


def _hand_over(model: HeldModel, number: int, label: str, message: str) -> None:
    model.call(number, "sessions_send", json.dumps({"label": label, "message": message}))


def _data(model: HeldModel, number: int) -> str:
    """What the last result says, without what wraps it."""
    [text] = re.findall(r"<data [^>]*>\n(.*)\n</data>", str(model.asked(number)["messages"][-1]["content"]))
    return str(text)


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
    assert said.code == 4
    assert question["id"][-8:] in said.err

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
    assert said.out.splitlines() == ["I am on it.", "A is one.", "A is one."]
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


def test_a_persistent_expert_remembers_what_was_asked_before(sales: Office) -> None:
    colleague = sales.colleague
    bind_model(
        sales,
        sales.play({"text": "Five deals."}, {"text": "As I said: five."}, name="expert"),
        session="persistent",
    )
    main = sales.play(
        call("sessions_send", label=f"expert:{SALES}", message="How many?"),
        {"text": "Five."},
        call("sessions_send", label=f"expert:{SALES}", message="How many again?"),
        {"text": "Still five."},
        name="main",
    )
    assert colleague("agent", "How many deals?", "--model", main).code == 0
    assert colleague("agent", "And again?", "--model", main).code == 0

    tasks = [each for each in runs_of(colleague) if each["kind"] == "expert"]
    assert [each["narrative"] for each in tasks] == ["Five deals.", "As I said: five."]
    assert {each["session_key"] for each in tasks} == {f"agent:main:expert:{SALES}"}


def test_an_agent_kills_and_steers_what_it_started(colleague: Colleague) -> None:
    office = Office.open(colleague)
    slow = office.play(
        {"delay": 60, "text": "too late"}, {"when": "Stop", "text": "stopped early"}, name="slow"
    )
    main = office.play(
        calls(
            ("sessions_spawn", {"task": "Take long", "model": slow, "label": "one"}),
            ("sessions_spawn", {"task": "Take long", "model": slow, "label": "two"}),
        ),
        calls(
            ("subagents", {"action": "list"}),
            ("subagents", {"action": "kill", "target": "one"}),
            ("subagents", {"action": "kill", "target": "two"}),
            ("subagents", {"action": "kill", "target": "three"}),
        ),
        {"text": "Both are ended."},
        name="main",
    )

    assert colleague("agent", "go", "--model", main).code == 0

    turn, *children = runs_of(colleague)
    assert {(each["kind"], each["outcome"]) for each in children} == {("subagent", "cancelled")}
    listed, *_, missing = turn["calls"][2:]
    assert "(one)" in listed["result"]["text"]
    assert "no sub-agent 'three'" in missing["result"]["text"]


def test_a_leaf_cannot_spawn(colleague: Colleague) -> None:
    office = Office.open(colleague)
    child = office.play(call("sessions_spawn", task="More"), {"text": "I did it myself."}, name="child")
    main = office.play(
        call("sessions_spawn", task="Do it", model=child),
        {"text": "Started."},
        {"when": "did it myself", "text": "Done."},
        name="main",
    )
    assert colleague("agent", "go", "--model", main).code == 0
    [leaf] = [each for each in runs_of(colleague) if each["kind"] == "subagent"]
    assert "there is no tool 'sessions_spawn'" in leaf["calls"][0]["result"]["text"]


def test_what_is_for_main_arrives_in_the_main_session_and_is_read_there(sales: Office) -> None:
    colleague = sales.colleague
    model = sales.play({"text": "Three deals moved."}, name="expert")
    started = colleague.ok("expert", "run", SALES, "Scan", "--model", model, "--no-wait", "--json").json
    assert started
    colleague.ok("run", "resume", sales.last_run()["id"])
    main = sales.play({"when": "Three deals moved", "text": "News: three deals moved."}, name="main")
    said = colleague("agent", "Anything new?", "--model", main)
    assert "News: three deals moved." in said.out, said.err


def test_a_steered_sub_agent_keeps_what_it_knows_and_tells_once(colleague: Colleague) -> None:
    office = Office.open(colleague)
    slow = office.play(
        {"when": "Stop", "text": "stopped early"}, {"delay": 60, "text": "too late"}, name="slow"
    )
    main = office.play(
        call("sessions_spawn", task="Take long", model=slow, label="one"),
        call("subagents", action="steer", target="one", message="Stop and say what you have."),
        {"when": "begins anew", "text": "I told it."},
        {"when": "stopped early", "text": "It stopped."},
        name="main",
    )

    said = colleague("agent", "go", "--model", main)

    assert said.code == 0, said.err
    assert said.out.splitlines() == ["I told it.", "It stopped."]
    found = [(each["kind"], each["outcome"]) for each in runs_of(colleague)]
    assert found.count(("agent", "completed")) == 2
    assert found.count(("subagent", "completed")) == 1


def test_a_fork_knows_the_conversation_and_an_isolated_one_does_not(colleague: Colleague) -> None:
    office = Office.open(colleague)
    child = office.play({"text": "I looked."}, {"text": "I looked."}, name="child")
    main = office.play(
        {"text": "Blue it is."},
        calls(
            ("sessions_spawn", {"task": "Paint it", "model": child, "context": "fork"}),
            ("sessions_spawn", {"task": "Paint it", "model": child, "context": "isolated"}),
        ),
        *[{"text": "On it."}] * 3,
        name="main",
    )
    colleague.ok("agent", "My colour is blue.", "--model", main)
    colleague.ok("agent", "Have it painted.", "--model", main)

    asked = [json.loads(line) for line in (colleague.home / "child.log").read_text().splitlines()]
    assert sorted(each["answers"] for each in asked) == [0, 1]
    isolated, forked = sorted(asked, key=lambda each: each["answers"])
    assert isolated["last"] == "Paint it"
    assert forked["last"].startswith("Paint it")
    assert "user: My colour is blue." in forked["last"]


@pytest.mark.parametrize("announced", [True, False])
def test_a_child_that_is_not_to_be_kept_leaves_no_session(colleague: Colleague, announced: bool) -> None:
    office = Office.open(colleague)
    child = office.play({"text": "A is 1."}, {"text": "B is 2."}, name="child")
    told = {"expectsCompletionMessage": announced}
    main = office.play(
        calls(
            ("sessions_spawn", {"task": "A", "model": child, "label": "gone", "cleanup": "delete", **told}),
            ("sessions_spawn", {"task": "B", "model": child, "label": "kept", "cleanup": "keep", **told}),
        ),
        *[{"text": "Fine."}] * 4,
        name="main",
    )

    said = colleague.ok("agent", "go", "--model", main)

    labels = [each["label"] for each in colleague.ok("session", "list", "--json").json]
    assert "kept" in labels
    assert "gone" not in labels
    runs = runs_of(colleague)
    assert [each["outcome"] for each in runs if each["kind"] == "subagent"] == ["completed"] * 2
    assert len([each for each in runs if each["kind"] == "agent"]) == (3 if announced else 1)
    assert said.out.splitlines() == ["Fine."] * (3 if announced else 1)


def test_a_circle_of_sends_is_refused_in_words_and_everybody_answers(colleague: Colleague) -> None:
    office = Office.open(colleague)
    settle(colleague, tools={"sessions": {"visibility": "all"}})
    asks = {
        "b": call("sessions_send", label="c", message="Ask A."),
        "c": call("sessions_send", sessionKey="agent:main:main", message="What do you think?"),
    }
    for name, ask in asks.items():
        model = office.play(ask, {"text": f"{name} has no other way."}, name=name)
        colleague.ok("session", "set", f"agent:main:test:dm:{name}", "--label", name, "--model", model)
    main = office.play(
        call("sessions_send", label="b", message="Ask C."), {"text": "That was a circle."}, name="main"
    )

    said = colleague.ok("agent", "go round", "--model", main)

    assert said.out == "That was a circle.\n"
    turns = runs_of(colleague)
    assert [each["outcome"] for each in turns] == ["completed"] * 3
    [refused] = turns[-1]["calls"]
    assert refused["status"] == "not_run"
    assert "agent:main:main has asked you for this work; your answer goes back" in refused["result"]["text"]
    assert "c has no other way." in turns[1]["calls"][0]["result"]["text"]
    assert "b has no other way." in turns[0]["calls"][0]["result"]["text"]


def test_the_main_agent_relays_what_is_for_main(sales: Office) -> None:
    colleague = sales.colleague
    main = sales.play({"when": "Three deals moved", "text": "Ann, three deals moved."}, name="main")
    settle(colleague, agents={"defaults": {"model": main}}, experts={"mainTurn": "relay"})
    model = sales.play({"text": "Three deals moved."}, name="expert")

    colleague.ok("expert", "run", SALES, "Scan", "--model", model, "--no-wait")
    colleague.ok("run", "resume", sales.last_run()["id"])
    turn = sales.last_run()
    if turn["status"] != "done":
        colleague.ok("run", "resume", turn["id"])

    assert (turn["kind"], turn["session_key"]) == ("agent", "agent:main:main")
    items = colleague.ok("session", "show", "agent:main:main", "--json").json["messages"]
    assert [(each["role"], each["text"].splitlines()[-1]) for each in items] == [
        ("event", "Three deals moved."),
        ("assistant", "Ann, three deals moved."),
    ]


def test_a_sub_agent_that_stays_is_talked_to_again(colleague: Colleague) -> None:
    office = Office.open(colleague)
    child = office.play(
        {"text": "Ready."}, {"text": "As I said: ready."}, {"text": "Hello, Ann."}, name="child"
    )
    main = office.play(
        call("sessions_spawn", task="Be ready", model=child, label="helper", mode="session"),
        {"text": "Started."},
        {"text": "It is ready."},
        call("sessions_send", label="helper", message="Are you?"),
        {"text": "It is."},
        name="main",
    )
    assert colleague.ok("agent", "go", "--model", main).out.splitlines() == ["Started.", "It is ready."]
    assert colleague.ok("agent", "is it?", "--model", main).out == "It is.\n"
    assert colleague.ok("agent", "hello", "--session", "helper").out == "Hello, Ann.\n"

    answers = [
        json.loads(line)["answers"] for line in (colleague.home / "child.log").read_text().splitlines()
    ]
    assert answers == [0, 1, 2], "it knows what was said before"
    [kept] = [each for each in colleague.ok("session", "list", "--json").json if each["label"] == "helper"]
    assert kept["spawned_by"] == "agent:main:main"


def test_two_sessions_do_not_answer_each_other_for_ever(colleague: Colleague) -> None:
    office = Office.open(colleague)
    pingpong = {"agentToAgent": {"maxPingPongTurns": 2}}
    settle(colleague, tools={"sessions": {"visibility": "all"}}, session=pingpong)
    other = office.play({"text": "Pong."}, {"text": "Pong."}, {"text": "REPLY_SKIP"}, name="other")
    colleague.ok("session", "set", "agent:main:test:dm:b", "--label", "b", "--model", other)
    ping = call("sessions_send", label="b", message="Ping.")
    later = call("sessions_send", label="b", message="Ping.", timeoutSeconds=0)
    main = office.play(ping, later, {"text": "It goes on."}, ping, ping, {"text": "Enough."}, name="main")

    said = colleague.ok("agent", "go", "--model", main)

    assert said.out.splitlines() == ["It goes on.", "Enough."]
    results = [
        each["result"]["text"]
        for run in runs_of(colleague)
        if run["session_key"] == "agent:main:main"
        for each in run["calls"]
    ]
    assert [each.splitlines()[-1] for each in results[2:3]] == ["It is done, without a word."]
    assert "you have answered agent:main:test:dm:b 2 times in a row" in results[3]
    assert len(results) == 4
