"""Cancelling, whatever a run is doing: it ends at once, and nothing of it is left in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from colleague.experts.runs.retry import retry_run
from colleague.store.approvals import AlreadyDecided, WrongDecision, pending_approvals
from colleague.store.cancel import cancel
from colleague.store.sweep import sweep
from colleague.store.timers import due_timers
from tests.integration.experts.package import Package, ledger_package
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished, step

DONE = finished()
FAILED = step(2, "failed", "the book is closed")
RETRY = {"retry": {"max_attempts": 3, "delay": "10s"}}


def serial(**more: Any) -> Package:
    return ledger_package(concurrency={"default": "serial"}, **more)


async def end(stage: Stage, run_id: str = "") -> bool:
    return await stage.database.write(lambda tx: cancel(tx, run_id or stage.run_id, "not needed"))


async def is_consistent(stage: Stage, run_id: str) -> None:
    """Ended once, for one reason, and no timer brings it back; what is open is a question about a call whose
    end nobody knows. A second cancel says so."""
    report = await stage.report(run_id)
    assert (report["status"], report["outcome"], report["error"]) == ("done", "cancelled", "not needed")
    assert (report["retry_at"], report["behind"]) == (None, 0)
    assert report["attempts"][-1]["outcome"] == "cancelled"
    assert all(each["ended_at"] for each in report["attempts"])
    calls = await stage.calls(run_id=run_id)
    assert {each.status for each in calls} <= {"finished", "not_run", "unknown"}
    asked = [each.call_id for each in await stage.approvals(run_id) if each.status == "pending"]
    assert asked == [each.id for each in calls if each.status == "unknown"]
    assert not await end(stage, run_id)
    stage.clock.move(days=30)
    await sweep(stage.database)
    assert await stage.report(run_id) == report
    assert [timer for timer in await stage.database.read(due_timers) if timer.run_id == run_id] == []


async def lane_goes_on(stage: Stage, run_id: str) -> None:
    stage.play(DONE)
    run = await stage.go_on(run_id)
    assert run.outcome == "completed", run.error


@on_stage
async def test_a_queued_run(stage: Stage) -> None:
    stage.install(serial(tiers={"append": "confirm"}))
    first = (await stage.run(call("ledger.append", line="one"), DONE)).id
    second, third = await stage.ask(), await stage.ask()
    assert (await stage.report(third))["behind"] == 2

    assert await end(stage, second)

    await is_consistent(stage, second)
    assert (await stage.report(third))["behind"] == 1
    assert (await stage.go_on(third)).status == "queued"
    await stage.decide("approve", await stage.pending(first))
    await stage.go_on()
    assert (await stage.current(first)).outcome == "completed"
    assert (await stage.current(third)).status == "waiting"


@on_stage
async def test_a_waiting_run(stage: Stage) -> None:
    policy = {"approval": {"timeout": "1h"}}
    stage.install(serial(tiers={"append": "confirm"}, policy=policy))
    both = calls(("ledger.append", {"line": "one"}), ("ledger.append", {"line": "two"}))
    await stage.run(step(1), both)
    first, second = stage.run_id, await stage.ask()
    asked = await stage.approvals(first)

    assert await end(stage, first)

    assert [each.status for each in await stage.approvals(first)] == ["withdrawn", "withdrawn"]
    for each in asked:
        with pytest.raises(AlreadyDecided, match="withdrawn"):
            await stage.decide("approve", each)
    assert stage.book == []
    await lane_goes_on(stage, second)
    await is_consistent(stage, first)


@on_stage
async def test_a_retrying_run(stage: Stage) -> None:
    stage.install(serial(work={"execution": RETRY}))
    run = await stage.run(step(1), FAILED)
    assert run.status == "retrying"
    first, second = stage.run_id, await stage.ask()

    assert await end(stage, first)

    await lane_goes_on(stage, second)
    run = await stage.later(seconds=3600)
    await is_consistent(stage, first)
    attempts = (await stage.report(first))["attempts"]
    assert len(attempts) == 1


@on_stage
async def test_a_running_run(stage: Stage) -> None:
    """Its call is under way: the lane is free at once, the call stays a question that cannot be repeated."""
    stage.install(serial())
    stage.play(call("ledger.append", line="one ~60"), call("ledger.append", line="two"), DONE)
    first = await stage.ask()
    async with stage.working():
        await stage.until_written("one ~60")
        assert await end(stage, first)
        second = await stage.ask()
        stage.play(DONE)
        for _ in range(6000):
            if (await stage.current(second)).status == "done":
                break
            await asyncio.sleep(0.02)
    await stage.restart()

    await is_consistent(stage, first)
    assert (await stage.current(second)).outcome == "completed"
    assert stage.book == ["one ~60"]
    asked = await stage.pending(first)
    assert (asked.kind, asked.operation) == ("uncertain", "ledger.append")
    with pytest.raises(WrongDecision):
        await stage.decide("again", asked)
    await stage.decide("give_up", asked)
    [made] = await stage.calls("ledger.append", first)
    assert made.status == "refused"
    assert await stage.database.read(pending_approvals) == []


@on_stage
async def test_an_answer_that_comes_after_all_settles_the_call(stage: Stage) -> None:
    stage.install(ledger_package())
    stage.play(call("ledger.append", line="one ~1"), DONE)
    await stage.ask()
    async with stage.working():
        await stage.until_written("one ~1")
        assert await end(stage)
        for _ in range(6000):
            [made] = await stage.calls("ledger.append")
            if made.status != "unknown":
                break
            await asyncio.sleep(0.02)
    assert (made.status, made.is_error) == ("finished", False)
    assert [each.status for each in await stage.approvals()] == ["withdrawn"]
    await is_consistent(stage, stage.run_id)


@on_stage
async def test_a_run_that_has_ended_stays_as_it_is(stage: Stage) -> None:
    stage.install(ledger_package())
    await stage.run(DONE)
    before = await stage.report()
    assert not await end(stage)
    assert await stage.report() == before


@on_stage
async def test_a_cancelled_run_can_be_tried_again(stage: Stage) -> None:
    stage.install(ledger_package(tiers={"append": "confirm"}))
    await stage.run(call("ledger.append", line="one"), call("ledger.append", line="two"), DONE)
    await end(stage)
    await retry_run(stage.database, stage.home, stage.run_id, {})
    run = await stage.go_on()
    assert (run.status, run.attempt) == ("waiting", 2)
    assert (await stage.pending()).arguments == '{"line": "two"}'
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert stage.book == ["two"]


@on_stage
async def test_many_cancel_and_decide_at_once(stage: Stage) -> None:
    """Whoever is first: the run ends once, and what was withdrawn is never made."""
    stage.install(serial(tiers={"append": "confirm"}))
    for number in range(6):
        await stage.run(call("ledger.append", line=str(number)), DONE)
        asked, run_id = await stage.pending(), stage.run_id
        answers = await asyncio.gather(
            end(stage, run_id), stage.decide("approve", asked), end(stage, run_id), return_exceptions=True
        )
        run = await stage.go_on()
        assert run.outcome == "cancelled"
        assert sorted(str(each) for each in (answers[0], answers[2])) == ["False", "True"]
        assert stage.book == []
        assert await stage.database.read(pending_approvals) == []
