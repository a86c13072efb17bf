"""The time limit of a process counts work, not waiting; what is under way when it is up is not forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.store.approvals import WrongDecision
from tests.integration.experts.package import ledger_package
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished

DONE = finished()
TOO_LONG = "the attempt took longer than 2 seconds of work"
SLOW = "one ~60"


def limited(seconds: int = 2, *, attempts: int = 1, **more: Any) -> dict[str, Any]:
    retry = {"max_attempts": attempts, "delay": "1m", "backoff": "fixed"}
    return {"execution": {"timeout": f"{seconds}s", "retry": retry, **more}}


@on_stage
async def test_waiting_for_a_person_costs_no_time(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "confirm"}, work=limited(60)))
    run = await stage.run(call("ledger.append", line="one"), DONE)
    assert run.status == "waiting"

    stage.clock.move(days=3)
    await stage.restart()
    run = await stage.decided("approve")

    assert run.outcome == "completed", run.error
    assert stage.book == ["one"]
    assert run.working_ms < 60_000


ASKING = calls(("ledger.put", {"line": "a ~6"}), ("ledger.fail", {"line": "one"}))
DYING = call("ledger.append", line="die ~6")


@pytest.mark.parametrize(("first", "decision"), [(ASKING, "approve"), (DYING, "happened")])
@on_stage
async def test_work_before_a_wait_counts_after_it(stage: Stage, first: Any, decision: str) -> None:
    """Also when the call that took the time never came to an end."""
    stage.install(ledger_package(tiers={"fail": "confirm"}, work=limited(10)))
    run = await stage.run(first, call("ledger.put", line="b ~6"), DONE)
    assert run.status == "waiting", run.error

    run = await stage.decided(decision)

    assert run.outcome == "failed"
    assert run.error == "the attempt took longer than 10 seconds of work"


@on_stage
async def test_work_before_a_restart_counts_after_it(stage: Stage) -> None:
    stage.install(ledger_package(work=limited(10)))
    both = calls(("ledger.put", {"line": "a ~6"}), ("ledger.put", {"line": SLOW}))
    stage.play(both, call("ledger.put", line="b ~6"), DONE)
    await stage.ask()
    async with stage.working():
        await stage.until_written(SLOW)

    await stage.restart()
    run = await stage.go_on()

    assert stage.book == ["a ~6", SLOW, SLOW, "b ~6"]
    assert (run.outcome, run.error) == ("failed", "the attempt took longer than 10 seconds of work")


@on_stage
async def test_a_slow_tool_fails_the_attempt_and_leaves_a_question(stage: Stage) -> None:
    stage.install(ledger_package(work=limited()))

    run = await stage.run(call("ledger.append", line=SLOW), DONE)

    assert (run.outcome, run.error) == ("failed", TOO_LONG)
    [made] = await stage.calls("ledger.append")
    assert (made.status, made.result) == ("unknown", None)
    asked = await stage.pending()
    assert (asked.kind, asked.call_id) == ("uncertain", made.id)
    with pytest.raises(WrongDecision, match="nothing is sent again"):
        await stage.decide("again")
    await stage.decided("happened")
    assert [each.status for each in await stage.calls("ledger.append")] == ["finished"]
    assert stage.book == [SLOW]


@pytest.mark.parametrize(("decision", "book"), [("happened", [SLOW]), ("again", [SLOW, SLOW])])
@on_stage
async def test_the_next_attempt_asks_about_a_call_under_way(
    stage: Stage, decision: str, book: list[str]
) -> None:
    stage.install(ledger_package(work=limited(8, attempts=2)))
    run = await stage.run(call("ledger.append", line=SLOW), DONE)
    assert (run.status, run.attempt) == ("retrying", 1)

    await stage.restart()
    run = await stage.later(seconds=60)

    assert (run.status, run.attempt) == ("waiting", 2)
    asked = await stage.pending()
    assert (asked.kind, asked.operation) == ("uncertain", "ledger.append")
    assert stage.book == [SLOW]
    run = await stage.decided(decision)
    assert run.outcome == "completed", run.error
    assert stage.book == book


@on_stage
async def test_a_call_that_is_safe_to_repeat_is_repeated(stage: Stage) -> None:
    stage.install(ledger_package(work=limited(8, attempts=2)))
    run = await stage.run(call("ledger.put", line=SLOW), DONE)
    assert (run.status, run.attempt) == ("retrying", 1)

    await stage.restart()
    run = await stage.later(seconds=60)

    assert run.outcome == "completed", run.error
    assert stage.book == [SLOW, SLOW]
    assert await stage.approvals() == []
    [made] = await stage.calls("ledger.put")
    assert (made.status, made.sends) == ("finished", 2)


@on_stage
async def test_a_slow_model_fails_the_attempt(stage: Stage) -> None:
    stage.install(ledger_package(work=limited(attempts=2)))
    run = await stage.run({"text": "Let me think.", "delay": 60}, DONE)
    assert run.status == "retrying"
    attempts = (await stage.report())["attempts"]
    assert [(each["outcome"], each["error"]) for each in attempts] == [("failed", TOO_LONG)]

    stage.play(DONE)
    run = await stage.later(seconds=60)

    assert run.outcome == "completed", run.error


@on_stage
async def test_no_limit_is_no_limit(stage: Stage) -> None:
    stage.install(ledger_package())
    run = await stage.run(call("ledger.put", line="one ~2.5"), DONE)
    assert run.outcome == "completed", run.error
