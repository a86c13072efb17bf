"""What a run needs around it: a model, a budget, tools; what is missing is said, retried if that helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.experts.package import Package, function, ledger_package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished, step

DONE = finished()
THRICE = {"execution": {"retry": {"max_attempts": 3, "delay": "10s"}, "on_failure": "dead_letter"}}


def puts(count: int) -> list[dict[str, Any]]:
    return [call("ledger.put", line=str(number)) for number in range(count)]


async def ends(stage: Stage, outcome: str, *words: str) -> str:
    """The run has ended after its first attempt, says why, and a person is told."""
    run = await stage.current()
    assert (run.status, run.outcome, run.attempt) == ("done", outcome, 1)
    for word in words:
        assert word in str(run.error)
    assert (await stage.notice("escalation"))["reason"] == run.error
    return str(run.error)


@on_stage
async def test_a_budget_of_calls_for_a_run(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE), budget={"run": {"tool_calls": 3}})
    await stage.run(*puts(5), DONE)
    await ends(stage, "dead_letter", "the budget of the run is used up: 3 of 3 tool calls")
    assert stage.book == ["0", "1", "2"]
    package = ledger_package(work=THRICE | {"steps": ()})
    stage.update(package)
    await stage.run(*puts(2), finished(steps=0))
    assert (await stage.current()).outcome == "completed"


@on_stage
async def test_the_prompt_ends_with_time_and_runtime_and_begins_the_same(stage: Stage) -> None:
    stage.configure(agents={"defaults": {"userTimezone": "Australia/Sydney"}})
    await stage.restart()
    stage.install(ledger_package(tiers={"append": "confirm"}))
    stage.clock.move(seconds=34 * 60 + 50)
    await stage.run(call("ledger.look"), call("ledger.append", line="one"), DONE)
    before = [each.system for each in stage.shown()]
    assert before[0] == before[1]
    assert (
        "\n\n## Current Date and Time\n\nThursday, 1 January 2026, 11:34 (Australia/Sydney, UTC+11:00)"
        "\n\nRuntime: agent=clerk | " in before[0]
    )
    assert before[0].endswith(" | model=script/play.yaml | thinking=medium")

    stage.clock.move(days=2)
    run = await stage.decided("approve")

    assert run.outcome == "completed", run.error
    after = stage.shown()[-1].system
    assert "Saturday, 3 January 2026, 11:34" in after
    assert after.split("## Current Date")[0] == before[0].split("## Current Date")[0]


@on_stage
async def test_an_expert_without_tools_is_told_what_to_do_in_doubt(stage: Stage) -> None:
    stage.install(Package())
    await stage.run(DONE)
    assert "## Low Confidence\n\nIf your confidence in a decision is low, escalate" in stage.shown()[0].system


@on_stage
async def test_a_budget_of_tokens_for_a_run(stage: Stage) -> None:
    stage.install(Package(), budget={"run": {"tokens": 200}})
    long = {"text": "word " * 300, "calls": step(1)["calls"]}
    await stage.run(long, DONE)
    await ends(stage, "failed", "the budget of the run is used up", "of 200 tokens")


@on_stage
async def test_a_budget_of_money_for_a_day(stage: Stage) -> None:
    stage.install(Package(), budget={"day": {"cost": 1.0}})
    prices = {"input": 0, "output": 1000}
    stage.play({"text": "word " * 600, "calls": step(1)["calls"]}, DONE, cost=prices)
    await stage.ask()
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    await stage.ask()
    run = await stage.go_on()
    assert run.outcome == "failed"
    assert "the budget of the day is used up" in str(run.error)
    spent = (await stage.report())["usage"]["cost"]

    stage.clock.move(days=1)
    await stage.ask()
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    assert spent < 1.0


@on_stage
async def test_a_budget_counts_the_work_of_functions_too(stage: Stage) -> None:
    package = ledger_package()
    package.files["functions/weigh.md"] = function("weigh", session="isolated", tools=["ledger"])
    stage.install(package, budget={"run": {"tool_calls": 3}})
    stage.play({"when": "Run the process", **call("function.weigh")}, *puts(5)[1:])
    await stage.ask()
    await stage.go_on()
    await ends(stage, "failed", "function.weigh: the budget of the run is used up: 3 of 3 tool calls")


@on_stage
async def test_the_model_of_the_bindings_is_used(stage: Stage) -> None:
    stage.install(Package(), model="script/bound.yaml")
    stage.configure(agents={"defaults": {"model": {"primary": "script/default.yaml"}}})
    await stage.restart()
    for name in ("bound", "default", "named"):
        stage.play(finished(f"I am {name}."), name=name)
    for model, expected in (("", "bound"), ("script/named.yaml", "named")):
        await stage.ask(model=model)
        run = await stage.go_on()
        assert run.narrative == f"I am {expected}."
        assert stage.shown()[0].model == f"script/{expected}.yaml"
    stage.bind()
    await stage.ask(model="")
    assert (await stage.go_on()).narrative == "I am default."


@on_stage
async def test_no_model_is_said_at_once(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    await stage.ask(model="")
    await stage.go_on()
    await ends(stage, "dead_letter", "no model configured", "agents.defaults.model.primary")


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("nobody/knows", "there is no model provider 'nobody'"),
        ("script/gone.yaml", "gone.yaml"),
        ("nonsense", "names no provider"),
    ],
)
@on_stage
async def test_a_model_that_does_not_exist(stage: Stage, model: str, word: str) -> None:
    stage.install(ledger_package(work=THRICE))
    await stage.ask(model=model)
    await stage.go_on()
    await ends(stage, "dead_letter", word)


@on_stage
async def test_a_model_that_refuses_the_key_is_not_asked_again(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    await stage.run({"text": "", "error": "auth"}, DONE)
    await ends(stage, "dead_letter", "so says the script")


@on_stage
async def test_a_tool_that_is_bound_to_nothing(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE), tools={})
    await stage.run(DONE)
    error = await ends(stage, "dead_letter", "the tool 'ledger' of clerk is bound to nothing")
    assert "colleague expert bind clerk ledger SERVER" in error


@on_stage
async def test_a_server_that_nobody_configured(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE), tools={"ledger": "legder"})
    await stage.run(DONE)
    told = "ledger is bound to MCP server 'legder', which is not configured"
    await ends(stage, "dead_letter", told, "did you mean 'ledger'?")


@on_stage
async def test_a_server_that_is_switched_off(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    stage.configure(mcp={"servers": {"ledger": {"command": "/bin/true", "enabled": False}}})
    await stage.restart()
    await stage.run(DONE)
    await ends(stage, "dead_letter", "ledger is bound to ledger", "is disabled")


@on_stage
async def test_a_server_that_is_down_may_come_back(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    settings = json.loads(stage.home.settings_file.read_text())
    stage.configure(mcp={"servers": {"ledger": {"command": "/nowhere/at/all"}}})
    await stage.restart()
    run = await stage.run(call("ledger.put", line="one"), DONE)
    assert (run.status, run.attempt) == ("retrying", 1)
    [attempt] = (await stage.report())["attempts"]
    assert "ledger is bound to ledger, which cannot be used" in attempt["error"]

    stage.configure(mcp=settings["mcp"])
    await stage.restart()
    run = await stage.later(seconds=10)
    assert (run.outcome, run.attempt, stage.book) == ("completed", 2, ["one"])


@on_stage
async def test_a_server_that_stays_down_uses_up_the_attempts(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    stage.configure(mcp={"servers": {"ledger": {"command": "/nowhere/at/all"}}})
    await stage.restart()
    await stage.run(DONE)
    for seconds in (10, 20):
        await stage.restart()
        run = await stage.later(seconds=seconds)
    assert (run.outcome, run.attempt) == ("dead_letter", 3)
    assert "which cannot be used" in (await stage.notice("escalation"))["reason"]


@on_stage
async def test_a_server_that_dies_in_the_middle_of_a_call(stage: Stage) -> None:
    stage.install(ledger_package())
    run = await stage.run(call("ledger.append", line="die"), call("ledger.append", line="one"), DONE)
    assert run.status == "waiting"
    asked = await stage.pending()
    assert (asked.kind, asked.operation) == ("uncertain", "ledger.append")
    run = await stage.decided("happened")
    assert run.outcome == "completed", run.error
    assert stage.book == ["one"]


@on_stage
async def test_an_operation_that_the_server_does_not_have(stage: Stage) -> None:
    package = ledger_package()
    package.files["tools/ledger.yaml"] += "- {name: burn, description: Burn it, input: {}, output: {}}\n"
    stage.install(package)
    run = await stage.run(call("ledger.burn"), DONE)
    assert run.outcome == "completed", run.error
    assert "ledger.burn" not in stage.shown()[0].tools
    assert "there is no tool 'ledger.burn'" in stage.shown()[1].texts[-1]


@on_stage
async def test_bindings_that_cannot_be_read(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    stage.bind(tools={"ledger": {"server": "ledger", "type": "carrier-pigeon"}})
    await stage.run(DONE)
    await ends(stage, "dead_letter", "bindings.yaml", "mend it, then try again")


@on_stage
async def test_only_the_tools_of_the_process_are_offered(stage: Stage) -> None:
    package = ledger_package()
    package.files["processes/talk.md"] = process("talk")
    stage.install(package)
    await stage.run(DONE, process="talk")
    assert not [name for name in stage.shown()[0].tools if name.startswith("ledger.")]


@on_stage
async def test_a_model_that_says_the_same_for_ever_is_stopped(stage: Stage) -> None:
    stage.install(ledger_package(work=THRICE))
    stage.play({"when": "/./", **call("ledger.put", line="again")})
    await stage.ask()
    await stage.go_on()
    await ends(stage, "dead_letter", "the same call was made 5 times in a row")
    assert stage.book == ["again"] * 5
