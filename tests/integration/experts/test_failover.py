"""Runs of experts whose model fails: the next one goes on, and what was spent counts."""

from __future__ import annotations

import pytest

from tests.integration.experts.package import Package, process
from tests.integration.experts.stage import Stage, on_stage

WORK = Package(files={"processes/work.md": process(steps=())})
LONG = "All of this was said before it broke. " * 20


def choose(stage: Stage, first: str, second: str) -> None:
    stage.configure(agents={"defaults": {"model": {"primary": first, "fallbacks": [second]}}})


@pytest.mark.parametrize("bound", [False, True], ids=["of the home", "of the bindings"])
@on_stage
async def test_a_run_goes_on_with_the_model_to_fall_back_to(stage: Stage, bound: bool) -> None:
    first = stage.play({"text": "unused", "error": "billing"}, name="first")
    second = stage.play({"text": "The second did it."}, name="second")
    choose(stage, "script/none.yaml" if bound else first, second)
    stage.install(WORK, **({"model": first} if bound else {}))
    await stage.restart()

    await stage.ask(model="")
    run = await stage.go_on()

    assert (run.outcome, run.narrative, run.error) == ("completed", "The second did it.", None)
    report = await stage.report()
    assert [each["model"] for each in report["model_requests"]] == [first, second]
    [told] = [event.data for event in stage.events if event.kind == "message_retry"]
    assert (told["reason"], told["next_model"]) == ("billing", second)


@on_stage
async def test_what_a_broken_answer_cost_counts_before_the_next_model_is_asked(stage: Stage) -> None:
    broken = {"reason": "server", "after": 100}
    first = stage.play({"text": LONG, "error": broken}, name="first", cost={"input": 1, "output": 1000})
    second = stage.play({"text": "Never asked."}, name="second")
    choose(stage, first, second)
    stage.install(WORK, budget={"run": {"cost": 0.05}})
    await stage.restart()

    await stage.ask(model="")
    run = await stage.go_on()

    assert run.outcome == "failed"
    assert run.error is not None
    assert run.error.startswith("the budget of the run is used up: ")
    assert not (stage.root / "second.log").exists()
    assert len((stage.root / "first.log").read_text().splitlines()) == 1
