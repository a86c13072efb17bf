"""An isolated function: a session of its own that gets what it names and gives back what it declares."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.experts.package import Package, function, ledger_package, markdown, process, text
from tests.integration.experts.stage import Shown, Stage, on_stage, returned
from tests.office import call, calls, finished, step

DONE = finished()
WEIGH = call("function.weigh", thing="feather")


def weighing(**more: Any) -> Package:
    package = ledger_package(tiers={"append": "confirm"}, **more)
    package.files |= {
        "functions/weigh.md": function(
            "weigh",
            "Weigh it with care.",
            session="isolated",
            inputs=[text("thing")],
            outputs=[text("verdict")],
            tools=["ledger"],
            knowledge=["knowledge/scales.md"],
        ),
        "functions/guess.md": function("guess", session="isolated", outputs=[text("verdict")]),
        "knowledge/scales.md": markdown({"name": "scales", "description": "S"}, "Scales lie on Mondays."),
        "knowledge/other.md": markdown({"name": "other", "description": "O"}, "Others tell the truth."),
        "state/notes.md": markdown({"name": "notes"}, "# Notes"),
    }
    return package


def given(verdict: Any = "light", **more: Any) -> dict[str, Any]:
    return call("complete", narrative="I weighed it.", outputs={"verdict": verdict, **more})


def when(pattern: str, reply: dict[str, Any]) -> dict[str, Any]:
    return {"when": pattern, **reply}


BEGIN = when("Run the process", WEIGH)
END = when('{"verdict"', DONE)


async def play(stage: Stage, *replies: dict[str, Any]) -> Any:
    stage.play(*replies)
    await stage.ask()
    return await stage.go_on()


def child(stage: Stage) -> Shown:
    """What the function was shown first."""
    return next(each for each in stage.shown() if each.texts[0].startswith("Apply "))


@on_stage
async def test_it_gets_only_what_it_declares_and_names(stage: Stage) -> None:
    stage.install(weighing())
    begin = when("Run the process", call("function.weigh", thing="feather", gossip="it is stolen"))
    run = await play(stage, begin, when("Apply weigh", given()), END)

    assert run.outcome == "completed", run.error
    shown = child(stage)
    assert len(shown.texts) == 1
    assert "feather" in shown.texts[0]
    assert "stolen" not in shown.texts[0]
    assert set(shown.tools) == {
        *(f"ledger.{name}" for name in ("append", "put", "fail", "look")),
        "complete",
        "escalate",
    }
    assert "Weigh it with care." in shown.system
    assert "Scales lie on Mondays." in shown.system
    assert "Others tell the truth." not in shown.system
    assert "Work in order." not in shown.system


@on_stage
async def test_it_gets_no_tool_that_it_does_not_name(stage: Stage) -> None:
    stage.install(weighing())
    begin = when("Run the process", call("function.guess"))
    stolen = when("Apply guess", call("ledger.put", line="stolen"))
    run = await play(stage, begin, stolen, when("there is no tool", given()), END)
    assert run.outcome == "completed", run.error
    assert set(child(stage).tools) == {"complete", "escalate"}
    assert stage.book == []


@on_stage
async def test_only_its_outputs_come_back(stage: Stage) -> None:
    stage.install(weighing())
    look = when("Apply weigh", call("ledger.put", "A secret thought.", line="noted"))
    run = await play(stage, BEGIN, look, when("written: noted", given("light", extra="my diary")), END)

    assert run.outcome == "completed", run.error
    parent = stage.shown()[-1]
    assert returned(parent.texts[-1]) == {"verdict": "light"}
    assert "secret" not in json.dumps(parent.texts)
    assert "diary" not in json.dumps(parent.texts)
    assert "noted" not in json.dumps(parent.texts)
    assert stage.book == ["noted"]
    sessions = {each["operation"]: each["session"] for each in (await stage.report())["calls"]}
    assert sessions["function.weigh"] == "main"
    [weighed] = await stage.calls("function.weigh")
    assert sessions["ledger.put"] == weighed.id


@on_stage
async def test_its_inputs_must_fit(stage: Stage) -> None:
    stage.install(weighing())
    begin = when("Run the process", call("function.weigh", thing=7))
    run = await play(stage, begin, when("do not fit", WEIGH), when("Apply weigh", given()), END)
    assert run.outcome == "completed", run.error
    assert [each.status for each in await stage.calls("function.weigh")] == ["refused", "finished"]


@on_stage
async def test_its_outputs_may_be_repaired_once(stage: Stage) -> None:
    stage.install(weighing())
    run = await play(stage, BEGIN, when("Apply weigh", given(7)), when("do not fit", given()), END)
    assert run.outcome == "completed", run.error

    run = await play(stage, BEGIN, when("Apply weigh", given(7)), when("do not fit", given(8)), END)
    assert run.outcome == "failed"
    assert str(run.error).startswith("function.weigh: it ended without its outputs: ")


@on_stage
async def test_it_waits_inside_and_goes_on_after_a_restart(stage: Stage) -> None:
    stage.install(weighing())
    ask = when("Apply weigh", call("ledger.append", "I must write.", line="weighed"))
    run = await play(stage, BEGIN, ask, when("written: weighed", given()), END)
    assert (run.status, stage.book) == ("waiting", [])
    asked = await stage.pending()
    assert (asked.kind, asked.operation) == ("confirm", "ledger.append")

    await stage.restart()
    stage.clock.move(days=2)
    run = await stage.decided("approve")

    assert run.outcome == "completed", run.error
    assert stage.book == ["weighed"]
    assert len([each for each in stage.shown() if each.texts[0].startswith("Apply weigh")]) == 2
    [weighed] = await stage.calls("function.weigh")
    assert (weighed.status, weighed.sends) == ("finished", 1)


@on_stage
async def test_a_no_inside_fails_the_run(stage: Stage) -> None:
    stage.install(weighing())
    await play(stage, BEGIN, when("Apply weigh", call("ledger.append", line="weighed")))
    await stage.restart()
    run = await stage.decided("reject", note="not mine")
    assert run.outcome == "failed"
    assert run.error == "function.weigh: ledger.append was rejected by ann: not mine"
    assert {each.status for each in await stage.calls()} <= {"refused", "not_run"}


@on_stage
async def test_two_in_one_answer_wait_one_after_the_other(stage: Stage) -> None:
    stage.install(weighing())
    both = calls(("function.weigh", {"thing": "feather"}), ("function.weigh", {"thing": "stone"}))
    stage.play(
        when("Run the process", both),
        when("feather", call("ledger.append", line="first")),
        when("stone", call("ledger.append", line="second")),
        when("written: first", given("light")),
        when("written: second", given("heavy")),
        when("heavy", DONE),
    )
    await stage.ask()
    await stage.go_on()
    assert json.loads((await stage.pending()).arguments) == {"line": "first"}
    await stage.restart()
    await stage.decided("approve")
    assert json.loads((await stage.pending()).arguments) == {"line": "second"}
    await stage.restart()
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.book == ["first", "second"]
    assert [returned(each)["verdict"] for each in stage.shown()[-1].texts[-2:]] == ["light", "heavy"]


@on_stage
async def test_a_stop_in_the_middle_repeats_nothing(stage: Stage) -> None:
    stage.install(weighing())
    slow = when("Apply weigh", calls(("ledger.put", {"line": "a"}), ("ledger.put", {"line": "b ~60"})))
    stage.play(BEGIN, slow, when("written: b", given()), END)
    await stage.ask()
    async with stage.working():
        await stage.until_written("b ~60")
    await stage.restart()
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    assert stage.book == ["a", "b ~60", "b ~60"]


@on_stage
async def test_its_time_is_the_attempts_time(stage: Stage) -> None:
    execution = {"timeout": "6s", "retry": {"max_attempts": 2, "delay": "10s"}}
    stage.install(weighing(work={"execution": execution}))
    run = await play(stage, BEGIN, when("Apply weigh", given() | {"delay": 60}), END)
    assert run.status == "retrying"

    stage.play(when("Apply weigh", given()), when("took longer than 6 seconds", DONE))
    run = await stage.later(seconds=10)

    assert run.outcome == "completed", run.error


@on_stage
async def test_a_failure_inside_is_retried_as_the_process_says(stage: Stage) -> None:
    execution = {"retry": {"max_attempts": 2, "delay": "10s"}}
    stage.install(weighing(work={"execution": execution}))
    run = await play(stage, BEGIN, when("Apply weigh", given(7)), when("do not fit", given(8)))
    assert run.status == "retrying"
    stage.play(when("Go on from where you were", given()), when("go on from there", DONE))
    run = await stage.later(seconds=10)
    assert run.outcome == "completed", run.error
    assert [each.status for each in await stage.calls("function.weigh")] == ["finished"]


def with_processes() -> Package:
    inputs = [text("mail"), {"name": "count", "type": "integer", "required": False}]
    package = ledger_package(tiers={"append": "confirm"})
    package.files |= {
        "processes/work.md": process(tools=["ledger"], inputs=inputs),
        "processes/rest.md": process("rest", steps=("Sit down.", "Sleep.", "Get up.")),
    }
    return package


def begins(name: str = "work", **inputs: Any) -> dict[str, Any]:
    return call("begin_process", process=name, inputs=inputs)


@on_stage
async def test_a_task_that_begins_a_process_is_a_run_of_it(stage: Stage) -> None:
    stage.install(with_processes())
    run = await stage.task("Deal with mail m-1", begins(mail="m-1"), step(1), step(2), DONE)

    assert (run.outcome, run.process, run.lane) == ("completed", "work", "clerk/session")
    report = await stage.report()
    assert report["inputs"] == {"mail": "m-1", "task": "Deal with mail m-1"}
    assert [(each["text"], each["status"]) for each in report["steps"]] == [
        ("Look at the book.", "done"),
        ("Write the line.", "done"),
    ]
    playbook = stage.shown()[1].texts[-1]
    assert "Run the process work" in playbook
    assert "Write the line." in playbook
    assert (await stage.notice("delivery"))["process"] == "work"


@on_stage
async def test_a_begun_process_goes_on_after_a_wait(stage: Stage) -> None:
    stage.install(with_processes())
    run = await stage.task(
        "Deal with mail m-1", begins(mail="m-1"), step(1), call("ledger.append", line="one"), step(2), DONE
    )
    assert (run.status, run.process) == ("waiting", "work")
    await stage.restart()
    run = await stage.decided("approve")
    assert (run.outcome, stage.book) == ("completed", ["one"])
    assert {each["status"] for each in (await stage.report())["steps"]} == {"done"}


@on_stage
async def test_another_process_can_be_begun_instead(stage: Stage) -> None:
    stage.install(with_processes())
    run = await stage.task("Do something", begins(mail="m-1"), step(1), begins("rest"), step(3), DONE)
    assert (run.outcome, run.process) == ("completed", "rest")
    steps = (await stage.report())["steps"]
    assert [(each["text"], each["status"]) for each in steps] == [
        ("Sit down.", "done"),
        ("Sleep.", "done"),
        ("Get up.", "done"),
    ]


@on_stage
async def test_a_process_begins_only_with_inputs_that_fit(stage: Stage) -> None:
    stage.install(with_processes())
    run = await stage.task(
        "Do something",
        begins(count="many"),
        begins("nonsense"),
        step(1),
        {"text": "I cannot."},
    )
    assert (run.outcome, run.process, run.narrative) == ("completed", "", "I cannot.")
    wrong, unknown = await stage.calls("begin_process")
    assert wrong.is_error
    assert unknown.status == "refused"
    [marked] = await stage.calls("mark_step")
    assert "no process with a checklist has begun" in str(marked.result)
    assert (await stage.report())["steps"] == []


@on_stage
async def test_a_run_of_a_process_cannot_begin_another(stage: Stage) -> None:
    stage.install(with_processes())
    await stage.run(begins("rest"), DONE, mail="m-1")
    assert "begin_process" not in stage.shown()[0].tools
    assert (await stage.current()).process == "work"
