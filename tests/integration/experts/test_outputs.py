"""What a process owes is checked; what it declares leaves, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.experts.package import Package, process, text
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished, step

OWED = [text("summary"), {"name": "score", "type": "integer"}]
GOOD = {"summary": "fine", "score": 7}
TWICE = {"retry": {"max_attempts": 2, "delay": "10s"}}


def owing(**head: Any) -> Package:
    return Package(files={"processes/work.md": process(**({"outputs": OWED} | head))})


def complete(narrative: str = "Here it is.", **outputs: Any) -> dict[str, Any]:
    return finished(narrative, outputs=outputs)


@on_stage
async def test_outputs_that_fit_end_the_run(stage: Stage) -> None:
    stage.install(owing())
    run = await stage.run(complete(**GOOD))
    assert (run.outcome, run.narrative) == ("completed", "Here it is.")
    assert json.loads(run.outputs or "") == GOOD


@pytest.mark.parametrize(
    ("outputs", "complaint"),
    [
        ({"summary": "fine"}, '"score" is a required property'),
        ({"summary": "fine", "score": "seven"}, 'outputs/score: "seven" is not of type "integer"'),
        ({}, '"summary" is a required property'),
    ],
)
@on_stage
async def test_what_does_not_fit_may_be_repaired_once(
    stage: Stage, outputs: dict[str, Any], complaint: str
) -> None:
    stage.install(owing())
    run = await stage.run(complete(**outputs), complete(**GOOD))
    assert run.outcome == "completed", run.error
    assert complaint in stage.shown()[1].texts[-1]
    assert json.loads(run.outputs or "") == GOOD


@on_stage
async def test_a_second_misfit_fails_the_attempt_and_the_next_begins_anew(stage: Stage) -> None:
    stage.install(owing(execution=TWICE))
    bad = complete(summary="fine")
    run = await stage.run(bad, bad, bad, complete(**GOOD))
    assert run.status == "retrying"
    [attempt] = (await stage.report())["attempts"]
    assert attempt["error"].startswith("it ended without its outputs: the arguments of complete do not fit")

    run = await stage.later(seconds=10)

    assert run.outcome == "completed", run.error
    assert len(stage.shown()) == 4


@on_stage
async def test_a_last_word_without_outputs_is_asked_for_them_once(stage: Stage) -> None:
    stage.install(owing())
    run = await stage.run({"text": "I am done."}, complete(**GOOD))
    assert run.outcome == "completed", run.error
    asked = stage.shown()[1].texts[-1]
    assert asked.startswith(
        "[The work is not over: call complete with the outputs summary, score. These steps"
    )
    assert "1. Look at the book; 2. Write the line. Do each" in asked

    run = await stage.run({"text": "I am done."}, {"text": "I said so."})
    assert run.outcome == "failed"
    assert run.error == "it ended without its outputs: complete was not called"
    assert await stage.messages("delivery") == []


@on_stage
async def test_a_word_and_a_misfit_are_two_tries(stage: Stage) -> None:
    stage.install(owing())
    run = await stage.run({"text": "I am done."}, complete(summary="fine"), complete(**GOOD))
    assert run.outcome == "failed"


@on_stage
async def test_without_outputs_a_last_word_is_enough(stage: Stage) -> None:
    stage.install(Package(files={"processes/work.md": process(steps=())}))
    run = await stage.run({"text": "I am done."})
    assert (run.outcome, run.narrative, run.outputs) == ("completed", "I am done.", None)


@on_stage
async def test_only_what_is_declared_leaves(stage: Stage) -> None:
    stage.install(owing())
    run = await stage.run(complete(**GOOD, notes="my secret thoughts"))
    assert run.outcome == "completed", run.error
    assert json.loads(run.outputs or "") == GOOD
    delivered = await stage.notice("delivery")
    assert delivered["outputs"] == GOOD
    assert "secret" not in json.dumps(await stage.report() | {"calls": []})


@pytest.mark.parametrize(
    ("form", "keys"),
    [
        ("narrative", {"narrative"}),
        ("structured", {"outputs"}),
        ("both", {"narrative", "outputs"}),
    ],
)
@on_stage
async def test_the_form_of_a_delivery(stage: Stage, form: str, keys: set[str]) -> None:
    stage.install(owing(delivery={"format": form}))
    run = await stage.run(complete(**GOOD))
    body = await stage.notice("delivery")
    assert set(body) == {"expert", "process", "format", *keys}
    assert (body["expert"], body["process"], body["format"]) == ("clerk", "work", form)
    assert body.get("narrative", "Here it is.") == "Here it is."
    assert body.get("outputs", GOOD) == GOOD
    assert (run.narrative, json.loads(run.outputs or "")) == ("Here it is.", GOOD)


@on_stage
async def test_a_process_overrides_the_form_and_keeps_the_channel(stage: Stage) -> None:
    package = owing(delivery={"format": "narrative"})
    package.manifest["delivery"] = {"format": "structured", "channel": "slack"}
    stage.install(package)
    await stage.run(complete(**GOOD))
    [message] = await stage.messages("delivery")
    assert message.channel == "slack"
    assert "outputs" not in json.loads(message.body)


@on_stage
async def test_a_structured_form_without_outputs_still_says_something(stage: Stage) -> None:
    stage.install(Package({"processes/work.md": process(steps=())}, {"delivery": {"format": "structured"}}))
    await stage.run({"text": "I am done."})
    assert (await stage.notice("delivery"))["narrative"] == "I am done."


@on_stage
async def test_nothing_is_done_after_complete(stage: Stage) -> None:
    """A model that goes on in the same answer, or the next, is not heard any more."""
    stage.install(owing())
    late = call("complete", narrative="Here it is.", outputs=GOOD)
    late["calls"] += [*step(1)["calls"], *step(2)["calls"]]
    run = await stage.run(late, {"text": "One more thing."})
    assert (run.outcome, run.narrative) == ("completed", "Here it is.")
    assert len(stage.shown()) == 1
    assert (await stage.report())["steps"][0]["status"] == "done"


@on_stage
async def test_arguments_that_are_nonsense(stage: Stage) -> None:
    stage.install(owing())
    nonsense = {"calls": [{"operation": "complete", "arguments": {"outputs": ["no", "object"]}}]}
    run = await stage.run(nonsense, complete(**GOOD))
    assert run.outcome == "completed", run.error
