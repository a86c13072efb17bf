"""What follows a failed attempt: another one after a pause, or the end that the package asks for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.experts.package import Package, ledger_package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished, step

DONE = finished()
LAST = finished(steps=0)
FAILED = step(2, "failed", "the book is closed")
REASON = "step 2 failed: the book is closed"


def retried(attempts: int, delay: str = "30s", backoff: str = "exponential", **more: Any) -> dict[str, Any]:
    return {"retry": {"max_attempts": attempts, "delay": delay, "backoff": backoff}, **more}


def tried(execution: dict[str, Any], **head: Any) -> Package:
    """A package without tools whose process has this execution."""
    return Package(files={"processes/work.md": process(execution=execution, **head)})


async def pauses(stage: Stage, count: int) -> list[int]:
    """The seconds between attempts; before each, a second too few does not begin the next."""
    found = []
    for number in range(1, count + 1):
        run = await stage.current()
        assert (run.status, run.attempt) == ("retrying", number)
        assert run.retry_at is not None
        seconds = (run.retry_at - stage.clock.now()) // 1000
        found.append(seconds)
        await stage.restart()
        assert (await stage.later(seconds=seconds - 1)).attempt == number
        await stage.restart()
        await stage.later(seconds=1)
    return found


@pytest.mark.parametrize(("backoff", "expected"), [("fixed", [10, 10, 10]), ("exponential", [10, 20, 40])])
@on_stage
async def test_pauses_between_attempts_survive_restarts(
    stage: Stage, backoff: str, expected: list[int]
) -> None:
    stage.install(tried(retried(4, "10s", backoff)))
    await stage.run(FAILED, FAILED, FAILED, DONE)

    assert await pauses(stage, 3) == expected

    run = await stage.current()
    assert (run.outcome, run.attempt) == ("completed", 4)
    attempts = (await stage.report())["attempts"]
    assert [each["outcome"] for each in attempts] == ["failed", "failed", "failed", "completed"]
    assert [each["error"] for each in attempts] == [REASON, REASON, REASON, None]


@on_stage
async def test_the_pause_is_seen_while_it_lasts(stage: Stage) -> None:
    stage.install(tried(retried(2, "1h")))
    await stage.run(FAILED, DONE)
    report = await stage.report()
    assert (report["status"], report["outcome"]) == ("retrying", None)
    assert report["retry_at"] == "2026-01-01T01:00:00+00:00"


@pytest.mark.parametrize(
    ("on_failure", "outcome"),
    [("escalate", "failed"), ("abandon", "abandoned"), ("dead_letter", "dead_letter")],
)
@on_stage
async def test_after_the_last_attempt(stage: Stage, on_failure: str, outcome: str) -> None:
    stage.install(tried(retried(2, on_failure=on_failure), inputs=[{"name": "mail", "type": "string"}]))
    await stage.run(step(1), FAILED, FAILED, mail="m-1")
    run = await stage.later(seconds=30)

    assert (run.status, run.outcome, run.error, run.attempt) == ("done", outcome, REASON, 2)
    assert run.retry_at is None
    told = await stage.messages("escalation")
    assert len(told) == (0 if on_failure == "abandon" else 1)
    assert await stage.messages("delivery") == []


@on_stage
async def test_an_escalation_says_what_a_person_needs(stage: Stage) -> None:
    package = ledger_package(work={"inputs": [{"name": "mail", "type": "string"}]})
    stage.install(package)
    run = await stage.run(call("ledger.append", line="one"), step(1), FAILED, mail="m-1")

    assert run.outcome == "failed"
    told = await stage.notice("escalation")
    assert (told["expert"], told["process"], told["reason"]) == ("clerk", "work", REASON)
    assert told["outcome"] == "failed"
    assert told["context"]["inputs"] == {"mail": "m-1"}
    assert told["context"]["steps"] == ["1. Look at the book.: done", "2. Write the line.: failed"]
    assert told["context"]["calls"] == ["ledger.append: finished"]
    assert f"colleague run retry {run.id[-8:]}" in told["recommendation"]
    [message] = await stage.messages("escalation")
    assert (message.channel, message.status) == ("main", "unread")


@on_stage
async def test_an_escalation_goes_to_its_channel(stage: Stage) -> None:
    policy = {"escalation": {"channel": "slack"}}
    stage.install(Package(files={"processes/work.md": process()}, manifest={"policy": policy}))
    await stage.run(FAILED)
    [message] = await stage.messages("escalation")
    assert (message.channel, message.status) == ("slack", "failed")


@on_stage
async def test_a_process_overrides_field_by_field(stage: Stage) -> None:
    package = Package(
        files={
            "processes/work.md": process(execution={"retry": {"max_attempts": 3}, "on_failure": "abandon"}),
            "processes/other.md": process("other"),
        },
        manifest={"execution": retried(2, "7s", "fixed", on_failure="dead_letter")},
    )
    stage.install(package)
    stage.play(FAILED, FAILED, FAILED)
    work, other = await stage.ask("work"), await stage.ask("other")
    await stage.go_on()
    assert {(await stage.current(each)).retry_at for each in (work, other)} == {stage.clock.now() + 7000}

    await stage.later(seconds=7)
    assert (await stage.current(other)).outcome == "dead_letter"
    assert (await stage.current(work)).status == "retrying"
    await stage.later(seconds=7)
    assert (await stage.current(work)).outcome == "abandoned"


@on_stage
async def test_without_any_policy_there_is_one_attempt(stage: Stage) -> None:
    stage.install(Package())
    run = await stage.run(FAILED, DONE)
    assert (run.outcome, run.attempt) == ("failed", 1)


@on_stage
async def test_a_rejection_is_not_retried(stage: Stage) -> None:
    execution = retried(5, on_failure="dead_letter")
    stage.install(ledger_package(tiers={"append": "confirm"}, work={"execution": execution}))
    await stage.run(call("ledger.append", line="one"), DONE)
    run = await stage.decided("reject", note="not today")
    assert (run.outcome, run.attempt) == ("dead_letter", 1)
    assert run.error == "ledger.append was rejected by ann: not today"
    assert stage.book == []


@pytest.mark.parametrize("resume", [True, False])
@on_stage
async def test_the_next_attempt_continues(stage: Stage, resume: bool) -> None:
    execution = retried(2, resume_from_execution_log=resume)
    stage.install(ledger_package(work={"execution": execution, "steps": ("Open.", "Write.", "Close.")}))
    await stage.run(
        call("ledger.append", line="one"), step(1), FAILED, step(2), step(3, "skipped", "it is Sunday"), LAST
    )
    await stage.restart()
    run = await stage.later(seconds=30)

    assert run.outcome == "completed", run.error
    assert stage.book == ["one"]
    again = stage.shown()[3].texts[-1]
    assert again.startswith(f'[The last attempt failed.]\n<data source="attempt">\n{REASON}\n')
    assert ("Steps that are done: 1." in again) == resume
    assert ("\nStep 2 failed: the book is closed\n</data>" in again) == resume
    assert ("Go on with step 2: Write. " in again) == resume
    assert "What was done before stays done: go on from there.]" in again
    assert any("written: one" in text for text in stage.shown()[3].texts)
    steps = (await stage.report())["steps"]
    assert [(each["status"], each["attempt"]) for each in steps] == [("done", 1), ("done", 2), ("skipped", 2)]


@on_stage
async def test_an_idempotent_process_really_starts_again(stage: Stage) -> None:
    execution = retried(2, idempotent=True)
    package = ledger_package(tiers={"put": "confirm", "fail": "manual"}, work={"execution": execution})
    stage.install(package)
    first = call("ledger.append", line="one")
    await stage.run(first, step(1), call("ledger.fail", line="a draft"), FAILED)
    run = await stage.current()
    assert run.status == "retrying"
    assert {step_["status"] for step_ in (await stage.report())["steps"]} == {"open"}
    [draft] = await stage.approvals()
    assert (draft.kind, draft.status) == ("draft", "withdrawn")

    stage.play(first, step(1), step(2), DONE)
    await stage.restart()
    run = await stage.later(seconds=30)

    assert run.outcome == "completed", run.error
    assert stage.book == ["one", "one"]
    begins = stage.shown()[4].texts
    assert len(begins) == 1
    assert begins[0].startswith("Run the process work")
    steps = (await stage.report())["steps"]
    assert [(each["status"], each["attempt"]) for each in steps] == [("done", 2), ("done", 2)]


@on_stage
async def test_an_idempotent_process_withdraws_its_questions(stage: Stage) -> None:
    """One yes of two is given; the call it allows takes too long, and the other question is still open."""
    execution = retried(2, idempotent=True, timeout="2s")
    stage.install(ledger_package(tiers={"append": "confirm"}, work={"execution": execution}))
    both = calls(("ledger.append", {"line": "one ~60"}), ("ledger.append", {"line": "two"}))
    await stage.run(both, DONE)
    one, two = await stage.approvals()
    await stage.decide("approve", one)
    run = await stage.go_on()
    assert run.status == "retrying"
    assert [each.status for each in await stage.approvals()] == ["decided", "withdrawn"]
    assert [each.status for each in await stage.calls("ledger.append")] == ["not_run", "not_run"]

    run = await stage.later(seconds=30)

    assert run.status == "waiting"
    new = [each for each in await stage.approvals() if each.status == "pending"]
    assert len(new) == 2
    assert not {each.id for each in new} & {one.id, two.id}
    assert stage.book == ["one ~60"]


@on_stage
async def test_an_idempotent_process_whose_server_died_meanwhile_starts_again(stage: Stage) -> None:
    execution = retried(3, idempotent=True)
    stage.install(ledger_package(tiers={"append": "confirm"}, work={"execution": execution}))
    both = calls(("ledger.append", {"line": "one"}), ("ledger.append", {"line": "two"}))
    await stage.run(step(1), both, DONE)
    one, _ = await stage.approvals()
    await stage.decide("approve", one)
    working = stage.settings.mcp.servers["ledger"].model_dump(by_alias=True, exclude_unset=True)
    stage.configure(mcp={"servers": {"ledger": {"command": "/nowhere/at/all"}}})
    await stage.restart()
    run = await stage.go_on()
    assert (run.status, run.attempt) == ("retrying", 1)
    assert {each.status for each in await stage.approvals()} == {"decided", "withdrawn"}

    stage.configure(mcp={"servers": {"ledger": working}})
    await stage.restart()
    run = await stage.later(seconds=30)

    assert (run.status, run.attempt) == ("waiting", 2)
    assert stage.book == []
    assert [each["status"] for each in (await stage.report())["steps"]] == ["done", "open"]
    new = [each for each in await stage.approvals() if each.status == "pending"]
    assert len(new) == 2
    for each in new:
        await stage.decide("approve", each)
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    assert stage.book == ["one", "two"]


@on_stage
async def test_a_lane_is_kept_while_a_run_retries(stage: Stage) -> None:
    package = tried(retried(2))
    package.manifest["concurrency"] = {"default": "serial"}
    stage.install(package)
    stage.play(FAILED, DONE)
    first, second = await stage.ask(), await stage.ask()
    await stage.go_on()
    assert (await stage.current(first)).status == "retrying"
    behind = await stage.report(second)
    assert (behind["status"], behind["behind"]) == ("queued", 1)

    await stage.later(seconds=30)
    assert (await stage.current(first)).outcome == "completed"
    assert (await stage.current(second)).status == "retrying"


@on_stage
async def test_deciding_a_draft_does_not_shorten_the_pause(stage: Stage) -> None:
    execution = retried(2, "10s")
    stage.install(ledger_package(tiers={"append": "manual"}, work={"execution": execution}))
    before = await stage.run(call("ledger.append", line="one"), FAILED, DONE)
    assert before.status == "retrying"

    stage.clock.move(seconds=4)
    run = await stage.decided("done")
    assert (run.status, run.attempt, run.retry_at) == ("retrying", 1, before.retry_at)

    run = await stage.later(seconds=6)
    assert (run.outcome, run.attempt) == ("completed", 2)


@on_stage
async def test_an_enormous_pause_can_still_be_shown(stage: Stage) -> None:
    stage.install(tried(retried(2, "999999999d")))
    run = await stage.run(FAILED, DONE)
    assert run.status == "retrying"
    assert (await stage.report())["retry_at"].startswith("9999-12-31")


@on_stage
async def test_an_end_with_open_steps_is_told_once_and_then_repaired(stage: Stage) -> None:
    stage.install(ledger_package())
    skipped = step(2, "skipped", "there was no line to write")
    run = await stage.run(LAST, step(2, "skipped"), step(1), skipped, LAST)
    assert run.outcome == "completed", run.error
    told = stage.shown()[1].texts[-1]
    assert told.startswith(
        "[The work is not over. These steps are open: 1. Look at the book; 2. Write the line."
    )
    assert stage.shown()[2].texts[-1] == "Say in note why step 2 is skipped."
    steps = (await stage.report())["steps"]
    assert [(each["status"], each["note"]) for each in steps] == [
        ("done", ""),
        ("skipped", "there was no line to write"),
    ]


@pytest.mark.parametrize("end", [LAST, {"text": "I am done."}], ids=["complete", "a last word"])
@on_stage
async def test_a_second_end_with_open_steps_fails_the_attempt(stage: Stage, end: dict[str, Any]) -> None:
    stage.install(ledger_package(work={"execution": retried(2)}))
    run = await stage.run(step(1), end, end, DONE)
    assert (run.status, run.narrative) == ("retrying", None)
    [attempt] = (await stage.report())["attempts"]
    assert attempt["error"] == "it ended with steps left open: 2. Write the line"
    assert await stage.messages("delivery") == []

    run = await stage.later(seconds=30)

    assert run.outcome == "completed", run.error


@on_stage
async def test_a_process_that_was_begun_for_a_task_has_no_open_steps_either(stage: Stage) -> None:
    stage.install(ledger_package())
    begun = call("begin_process", process="work", inputs={})
    run = await stage.task("Do it", begun, {"text": "Done."}, {"text": "Really."})
    assert (run.outcome, run.error) == (
        "failed",
        "it ended with steps left open: 1. Look at the book; 2. Write the line",
    )


@on_stage
async def test_killed_between_the_telling_and_the_answer_it_is_told_again_and_goes_on(stage: Stage) -> None:
    """The model is slow to answer what it was told, and its worker stops meanwhile."""
    stage.install(ledger_package())
    stage.play(LAST, {"delay": 30, **DONE})
    await stage.ask()
    async with stage.working():
        for _ in range(6000):
            asked = stage.root / "play.log"
            if asked.exists() and len(asked.read_text().splitlines()) == 2:
                break
            await asyncio.sleep(0.02)
    await stage.restart()
    stage.play(LAST, DONE)
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    [told] = [text for text in stage.shown()[-1].texts if "These steps are open" in text]
    assert "1. Look at the book; 2. Write the line" in told
