"""Dead letters: listed, looked at, tried again as the same run, or dropped."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from colleague.errors import ColleagueError, NotFound, UsageError
from colleague.experts.runs.inputs import changed_inputs
from colleague.experts.runs.redacted_report import run_report
from colleague.experts.runs.retry import drop_dead_letter, retry_run
from colleague.store.overview import dead_letters
from colleague.store.retention import forget_old
from colleague.store.run import Run
from colleague.store.tx import Tx
from tests.integration.experts.package import Package, ledger_package, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished, step

DONE = finished()
FAILED = step(2, "failed", "the book is closed")
DEAD = {"execution": {"on_failure": "dead_letter"}}
MAIL = [{"name": "mail", "type": "string"}, {"name": "count", "type": "integer", "required": False}]


def all_dead_letters(tx: Tx) -> list[Run]:
    return list(dead_letters(tx, limit=100).items)


def dying(**head: Any) -> Package:
    return Package(files={"processes/work.md": process(**(DEAD | {"inputs": MAIL} | head))})


async def retry(stage: Stage, run_id: str = "", **changes: Any) -> None:
    await retry_run(stage.database, stage.home, run_id or stage.run_id, changes)


@on_stage
async def test_they_are_listed_the_oldest_first(stage: Stage) -> None:
    stage.install(dying())
    first = (await stage.run(FAILED, mail="one")).id
    stage.clock.move(seconds=1)
    second = (await stage.run(FAILED, mail="two")).id
    await stage.run(DONE, mail="three")

    found = await stage.database.read(all_dead_letters)

    assert [run.id for run in found] == [first, second]
    assert {run.error for run in found} == {"step 2 failed: the book is closed"}
    assert await stage.database.write(lambda tx: forget_old(tx, 0)) == 0
    stage.clock.move(days=100)
    told_main = 3
    assert await stage.database.write(lambda tx: forget_old(tx, 1)) == 1 + told_main
    assert len(await stage.database.read(all_dead_letters)) == 2


@on_stage
async def test_a_retry_is_the_same_run_with_the_next_attempt(stage: Stage) -> None:
    stage.install(ledger_package(work=DEAD))
    run = await stage.run(call("ledger.append", line="one"), step(1), FAILED, step(2), DONE)
    assert run.outcome == "dead_letter"

    stage.clock.move(days=2)
    await stage.restart()
    await retry(stage)
    again = await stage.go_on()

    assert (again.id, again.outcome, again.attempt) == (run.id, "completed", 2)
    assert (again.error, again.session_key) == (None, run.session_key)
    assert stage.book == ["one"]
    attempts = (await stage.report())["attempts"]
    assert [each["outcome"] for each in attempts] == ["dead_letter", "completed"]
    assert attempts[0]["error"] == "step 2 failed: the book is closed"
    assert stage.shown()[3].texts[-1].startswith("[The last attempt failed.]\n")
    assert "step 2 failed" in stage.shown()[3].texts[-1]
    assert await stage.database.read(all_dead_letters) == []
    assert len(await stage.messages("delivery")) == 1


@on_stage
async def test_a_second_failure_is_told_again(stage: Stage) -> None:
    stage.install(dying())
    await stage.run(FAILED, FAILED, mail="one")
    await retry(stage)
    run = await stage.go_on()
    assert (run.outcome, run.attempt) == ("dead_letter", 2)
    assert [each.subject for each in await stage.messages("escalation")] == ["1", "2"]


@on_stage
async def test_changed_inputs_reach_the_agent(stage: Stage) -> None:
    stage.install(dying())
    await stage.run(FAILED, DONE, mail="old-mail")
    changes = await stage.database.read(
        lambda tx: changed_inputs(
            stage.home, run_report(tx, stage.home, stage.run_id), ["mail=new-mail", "count=3"]
        )
    )
    await retry(stage, **changes)
    run = await stage.go_on()

    assert run.outcome == "completed", run.error
    assert (await stage.report())["inputs"] == {"mail": "new-mail", "count": 3}
    assert "old-mail" in stage.shown()[1].texts[0]
    assert '"mail": "new-mail"' in stage.shown()[1].texts[-1]
    assert '"count": 3' in stage.shown()[1].texts[-1]


@on_stage
async def test_unchanged_inputs_are_not_repeated(stage: Stage) -> None:
    stage.install(dying())
    await stage.run(FAILED, DONE, mail="the-mail")
    await retry(stage)
    await stage.go_on()
    assert [("the-mail" in text) for text in stage.shown()[1].texts] == [True, False, False]


@on_stage
async def test_changed_inputs_must_fit(stage: Stage) -> None:
    stage.install(dying())
    run = await stage.run(FAILED, mail="one")

    async def given(*pairs: str) -> dict[str, Any]:
        return await stage.database.read(
            lambda tx: changed_inputs(stage.home, run_report(tx, stage.home, run.id), list(pairs))
        )

    with pytest.raises(UsageError, match="has no input 'mial'"):
        await given("mial=two")
    with pytest.raises(UsageError, match="count"):
        await retry(stage, **await given("count=many"))
    assert (await stage.current()).outcome == "dead_letter"
    assert (await stage.report())["inputs"] == {"mail": "one"}


@on_stage
async def test_a_retry_goes_to_the_end_of_its_lane(stage: Stage) -> None:
    package = ledger_package(
        tiers={"append": "confirm"}, work=DEAD | {"inputs": MAIL}, concurrency={"default": "serial"}
    )
    stage.install(package)
    dead = (await stage.run(FAILED, DONE, mail="one")).id
    waiting = (await stage.run(call("ledger.append", line="one"), DONE, mail="two")).id
    assert (await stage.current(waiting)).status == "waiting"

    await retry(stage, dead)
    run = await stage.go_on(dead)
    assert (run.status, run.ready) == ("queued", False)
    assert (await stage.report(dead))["behind"] == 1

    stage.play(FAILED, DONE)
    await stage.decide("approve", await stage.pending(waiting))
    run = await stage.go_on(dead)
    assert run.outcome == "completed", run.error
    assert (await stage.current(waiting)).outcome == "completed"


@on_stage
async def test_a_retry_takes_the_package_of_today(stage: Stage) -> None:
    stage.install(dying())
    before = await stage.run(step(1), FAILED, mail="one")
    newer = dying(steps=("Look at the book.", "Open the book.", "Write the line.", "Look at the book."))
    newer.version = "1.1.0"
    stage.update(newer)

    stage.play(step(1), FAILED, step(2), step(3), step(4, "skipped", "it was looked at"), finished(steps=0))
    await retry(stage)
    run = await stage.go_on()

    assert run.outcome == "completed", run.error
    assert (run.version, run.digest != before.digest) == ("1.1.0", True)
    assert "Open the book." in stage.shown()[2].texts[-1]
    steps = (await stage.report())["steps"]
    assert [(each["text"], each["status"], each["attempt"]) for each in steps] == [
        ("Look at the book.", "done", 1),
        ("Open the book.", "done", 2),
        ("Write the line.", "done", 2),
        ("Look at the book.", "skipped", 2),
    ]


@on_stage
async def test_a_retry_keeps_to_the_policy_of_today(stage: Stage) -> None:
    stage.install(ledger_package(work=DEAD))
    await stage.run(FAILED, call("ledger.append", line="one"), DONE)
    stricter = ledger_package(tiers={"append": "manual"}, work=DEAD)
    stricter.version = "1.1.0"
    stage.update(stricter)
    await retry(stage)
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    assert stage.book == []
    assert (await stage.pending()).kind == "draft"


@on_stage
async def test_a_process_that_is_gone_cannot_be_retried(stage: Stage) -> None:
    stage.install(dying())
    await stage.run(FAILED, mail="one")
    other = Package(files={"processes/work.md": process("other")}, version="1.1.0")
    stage.update(other)
    with pytest.raises(ColleagueError, match=r"clerk 1\.1\.0 has no process 'work' any more"):
        await retry(stage)
    assert (await stage.current()).outcome == "dead_letter"


@on_stage
async def test_an_idempotent_dead_letter_starts_again(stage: Stage) -> None:
    execution = {"on_failure": "dead_letter", "idempotent": True}
    stage.install(ledger_package(work={"execution": execution}))
    first = call("ledger.append", line="one")
    await stage.run(first, step(1), FAILED)

    stage.play(first, step(2), DONE)
    await retry(stage)
    assert {each["status"] for each in (await stage.report())["steps"]} == {"open"}
    run = await stage.go_on()

    assert run.outcome == "completed", run.error
    assert stage.book == ["one", "one"]
    assert len(stage.shown()[3].texts) == 1
    steps = (await stage.report())["steps"]
    assert [(each["status"], each["attempt"]) for each in steps] == [("done", 2), ("done", 2)]


@on_stage
async def test_an_open_question_of_a_dead_letter_is_still_asked(stage: Stage) -> None:
    execution = {"on_failure": "dead_letter", "timeout": "2s"}
    stage.install(ledger_package(work={"execution": execution}))
    await stage.run(call("ledger.append", line="one ~60"), DONE)
    assert (await stage.current()).outcome == "dead_letter"
    await retry(stage)
    run = await stage.go_on()
    assert (run.status, run.attempt) == ("waiting", 2)
    assert (await stage.pending()).kind == "uncertain"
    run = await stage.decided("again")
    assert run.outcome == "completed", run.error
    assert stage.book == ["one ~60", "one ~60"]


@on_stage
async def test_only_what_ended_badly_is_retried(stage: Stage) -> None:
    stage.install(dying())
    await stage.run(DONE, mail="one")
    with pytest.raises(ColleagueError, match="is completed, so there is nothing to retry"):
        await retry(stage)
    with pytest.raises(NotFound):
        await retry(stage, "no-such-run")


@on_stage
async def test_two_people_retry_at_once(stage: Stage) -> None:
    """One of them begins the next attempt; the other is told, and changes nothing."""
    stage.install(dying())
    await stage.run(FAILED, DONE, mail="one")
    answers = await asyncio.gather(
        *(retry(stage, mail=name) for name in ("ann", "bob")), return_exceptions=True
    )
    [refused] = [each for each in answers if each is not None]
    assert isinstance(refused, ColleagueError)
    winner = "bob" if answers[0] is refused else "ann"
    run = await stage.go_on()
    assert (run.outcome, run.attempt) == ("completed", 2)
    assert (await stage.report())["inputs"]["mail"] == winner


@on_stage
async def test_a_dropped_one_is_abandoned_and_says_by_whom(stage: Stage) -> None:
    stage.install(dying())
    run = await stage.run(FAILED, mail="one")
    await stage.database.write(lambda tx: drop_dead_letter(tx, run.id, "ann"))
    run = await stage.current()
    assert run.outcome == "abandoned"
    assert run.error == "step 2 failed: the book is closed (dropped by ann)"
    assert await stage.database.read(all_dead_letters) == []
    with pytest.raises(ColleagueError, match="is no dead letter: it is abandoned"):
        await stage.database.write(lambda tx: drop_dead_letter(tx, run.id, "bob"))


@on_stage
async def test_several_calls_of_a_dead_letter_have_their_ends(stage: Stage) -> None:
    """A no to the first of two: the second is not run, and its question is withdrawn."""
    stage.install(ledger_package(tiers={"append": "confirm"}, work=DEAD))
    both = calls(("ledger.append", {"line": "one"}), ("ledger.append", {"line": "two"}))
    await stage.run(both, DONE)
    one, two = await stage.approvals()
    await stage.decide("approve", two)
    await stage.decide("reject", one)
    run = await stage.go_on()
    assert run.outcome == "dead_letter"
    assert [each.status for each in await stage.calls("ledger.append")] == ["refused", "not_run"]
    assert [each.status for each in await stage.approvals()] == ["decided", "withdrawn"]
    assert stage.book == []
