"""A fork begins at a step of an earlier run: with what that one knew then, and nothing of it done again."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from colleague.errors import ColleagueError, PackageError, UsageError
from colleague.experts.runs.fork import CannotFork, planned_fork
from colleague.experts.runs.preflight import Preflight
from colleague.experts.runs.retry import retry_run
from colleague.run_document import DryRun
from colleague.store.event_report import event_document
from colleague.store.run import get_run
from colleague.store.sql import select
from colleague.store.steps import steps_of
from colleague.store.tables import calls as calls_table
from colleague.store.tables import messages, runs, steps
from tests.integration.experts.package import Package, ledger_package, markdown
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished, step

WORK = ("Look at the book.", "Write the line.", "Close the book.")
ONE = call("ledger.append", line="one")
TWO = call("ledger.append", line="two")
THREE = call("ledger.append", line="three")
LAST = finished("All is written.", steps=0)
STORY = (ONE, step(1, note="empty"), TWO, step(2), THREE, step(3), LAST)
GONE_ON = "[The work is taken up again here, from step"


def clerk(**more: Any) -> Package:
    work = {"steps": WORK} | more.pop("work", {})
    return ledger_package(work=work, **more)


async def fork(
    stage: Stage, number: int, run_id: str = "", *, model: str = "", dry_run: DryRun = False
) -> str:
    """Accepts a fork and makes it the run of the test; returns the id of the one it was made of."""
    original = run_id or stage.run_id
    run = await stage.database.read(lambda tx: get_run(tx, original))
    preflight = Preflight(stage.home, stage.settings, stage.environ)
    planned = planned_fork(preflight, run, number, "ann", model, dry_run)
    accepted = await stage.database.write(lambda tx: planned.start(tx, original))
    stage.run_id = str(accepted.run_id)
    return original


async def rows_of(stage: Stage, run_id: str) -> Any:
    """All that is stored of a run."""
    found = []
    for table, column in ((runs, "id"), (messages, "run_id"), (calls_table, "run_id"), (steps, "run_id")):
        query = select(table).where(table.c[column] == run_id).order_by(*table.c)
        rows = await stage.database.read(lambda tx, query=query: tx.all(query))
        found.append([tuple(row) for row in rows])
    return found


@on_stage
async def test_it_goes_on_from_the_step_with_what_was_known(stage: Stage) -> None:
    stage.install(clerk())
    await stage.run(*STORY)
    before = await rows_of(stage, stage.run_id)

    original = await fork(stage, 3)
    run = await stage.go_on()

    assert (run.outcome, run.forked_from, run.forked_step) == ("completed", original, 3)
    assert stage.book == ["one", "two", "three", "three"]
    assert await rows_of(stage, original) == before
    report, old = await stage.report(), await stage.report(original)
    assert report["forked_from"] == {"id": original, "step": 3}
    assert old["forks"] == [{"id": run.id, "step": 3}]
    assert (old["forked_from"], report["forks"]) == (None, [])
    assert [(each["status"], each["note"]) for each in report["steps"]] == [
        ("done", "empty"),
        ("done", ""),
        ("done", ""),
    ]
    made = [(each["operation"], each["taken_from"], each["sends"]) for each in report["calls"]]
    assert made == [
        ("ledger.append", original, 0),
        ("mark_step", original, 0),
        ("ledger.append", original, 0),
        ("mark_step", original, 0),
        ("ledger.append", None, 1),
        ("mark_step", None, 1),
        ("complete", None, 1),
    ]
    assert report["turns"] == 3
    assert len(await stage.messages("delivery")) == 1
    assert len(await stage.messages("delivery", original)) == 1


@on_stage
async def test_every_call_that_the_model_is_shown_has_its_result(stage: Stage) -> None:
    """One answer settles a step and goes on with the next: what belongs to that is not taken over."""
    stage.install(clerk())
    mixed = calls(
        ("mark_step", {"step": 1, "status": "done"}),
        ("ledger.append", {"line": "two"}),
        ("mark_step", {"step": 2, "status": "done"}),
        ("ledger.append", {"line": "three"}),
    )
    await stage.run(ONE, mixed, step(3), LAST)
    assert stage.book == ["one", "two", "three"]

    again = stage.play({"text": "?"}, {"text": "?"}, TWO, step(2), step(3), LAST, name="again")
    await fork(stage, 2, model=again)
    run = await stage.go_on()

    assert run.outcome == "completed"
    assert stage.book == ["one", "two", "three", "two"]
    first = stage.shown()[0]
    assert first.model.endswith("again.yaml")
    assert first.texts[-2].startswith("Step 1 is done")
    assert first.texts[-1].startswith(f"{GONE_ON} 2 on")
    for entry in _entries(stage):
        parts = [part for message in entry["messages"] for part in message["parts"]]
        asked = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"]
        answered = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-return"]
        assert asked == answered


def _entries(stage: Stage) -> list[dict[str, Any]]:
    stage.tracer.flush()
    files = sorted(stage.root.glob("*-payload.jsonl"))
    entries = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [each for each in entries if each["run"] == stage.run_id]


@on_stage
async def test_twice_and_a_fork_of_a_fork(stage: Stage) -> None:
    stage.install(clerk())
    first = (await stage.run(*STORY)).id
    await fork(stage, 3)
    second = (await stage.go_on()).id
    await fork(stage, 3, first)
    third = (await stage.go_on()).id
    await fork(stage, 2, second)
    fourth = await stage.go_on()

    assert (fourth.outcome, fourth.forked_from) == ("completed", second)
    assert stage.book == ["one", "two", "three", "three", "three", "two", "three"]
    assert [each["id"] for each in (await stage.report(first))["forks"]] == [second, third]
    taken = [each["taken_from"] for each in (await stage.report())["calls"] if each["taken_from"]]
    assert taken == [first, first]  # where it really happened


@on_stage
async def test_from_the_first_step_everything_is_done_anew(stage: Stage) -> None:
    stage.install(clerk())
    await stage.run(*STORY)
    await fork(stage, 1)
    run = await stage.go_on()
    assert (run.outcome, run.forked_step) == ("completed", 1)
    assert stage.book == ["one", "two", "three"] * 2
    assert not any(each.taken_from for each in await stage.calls())


@pytest.mark.parametrize("dry_run", [True, "strict"])
@on_stage
async def test_a_dry_run_of_it_has_no_effect(stage: Stage, dry_run: DryRun) -> None:
    stage.install(clerk(tiers={"append": "auto" if dry_run == "strict" else "confirm"}))
    await stage.run(*STORY)
    if dry_run != "strict":
        await stage.decided("approve")
        await stage.decided("approve")
        await stage.decided("approve")
    await fork(stage, 2, dry_run=dry_run)
    run = await stage.go_on()

    assert (run.outcome, run.dryness, run.lane) == ("completed", dry_run, None)
    assert stage.book == ["one", "two", "three"]
    assert "This is a dry run" in stage.shown()[0].texts[-1]
    assert await stage.messages("delivery") == []
    own = [each for each in await stage.calls("ledger.append") if not each.taken_from]
    assert [each.status for each in own] == ["described", "described"]

    await fork(stage, 3)  # what a dry run did never happened: neither does what follows from it
    assert (await stage.go_on()).dryness == dry_run
    assert stage.book == ["one", "two", "three"]


@on_stage
async def test_what_a_person_decided_before_counts_for_nothing(stage: Stage) -> None:
    stage.install(clerk(tiers={"append": "confirm"}))
    await stage.run(*STORY)
    await stage.decided("approve", answer=json.dumps({"line": "first"}))
    waiting = await stage.decided("approve")
    assert (waiting.status, stage.book) == ("waiting", ["first", "two"])

    original = await fork(stage, 2)
    run = await stage.go_on()
    assert (run.status, run.lane) == ("waiting", waiting.lane)
    assert stage.book == ["first", "two"]
    asked = await stage.pending()
    assert json.loads(asked.arguments) == {"line": "two"}
    told = next(text for text in stage.shown()[0].texts if "A person changed the arguments" in text)
    assert '<data source="person:ann">' in told
    assert "first" in told

    assert (await stage.current(original)).status == "waiting"
    await stage.decided("approve")
    assert stage.book == ["first", "two", "two"]


@on_stage
async def test_it_stands_behind_the_run_that_has_the_lane(stage: Stage) -> None:
    stage.install(clerk(tiers={"append": "confirm"}, concurrency={"default": "serial"}))
    await stage.run(step(1), *STORY)
    original = await fork(stage, 2)
    run = await stage.go_on()
    assert run.lane is not None
    assert (run.status, (await stage.report())["ahead"]["id"]) == ("queued", original)


@on_stage
async def test_of_a_run_that_failed_and_with_another_model(stage: Stage) -> None:
    stage.install(clerk(work={"execution": {"on_failure": "dead_letter"}}))
    run = await stage.run(ONE, step(1), step(2, "failed", "no ink"))
    assert run.outcome == "dead_letter"
    other = stage.play({"text": "?"}, {"text": "?"}, TWO, step(2), THREE, step(3), LAST, name="other")
    original = await fork(stage, 2, model=other)
    run = await stage.go_on()
    assert (run.outcome, run.model) == ("completed", other)
    assert (await stage.current(original)).outcome == "dead_letter"
    assert stage.book == ["one", "two", "three"]
    assert [each["note"] for each in (await stage.report())["steps"]] == ["", "", ""]


@on_stage
async def test_nothing_that_it_took_over_counts_for_its_limits(stage: Stage) -> None:
    stage.configure(agents={"defaults": {"maxTurns": 7}})
    await stage.restart()
    stage.install(clerk(), budget={"run": {"tool_calls": 8}})
    await stage.run(*STORY)
    used = (await stage.report())["usage"]
    await fork(stage, 2)
    await stage.go_on()
    assert (await stage.current()).outcome == "completed"
    assert 0 < (await stage.report())["usage"]["input_tokens"] < used["input_tokens"] * 2
    requests = (await stage.report())["model_requests"]
    assert len(requests) == 5


@on_stage
async def test_a_process_that_starts_over_does_not_do_it_beyond_the_fork(stage: Stage) -> None:
    execution = {"idempotent": True, "retry": {"max_attempts": 2, "delay": "1s", "backoff": "fixed"}}
    stage.install(clerk(work={"execution": execution}))
    await stage.run(*STORY)
    again = stage.play(
        {"text": "?"}, {"text": "?"}, step(2, "failed", "no ink"), TWO, step(2), step(3), LAST, name="again"
    )
    await fork(stage, 2, model=again)
    assert (await stage.go_on()).status == "retrying"
    run = await stage.later(seconds=2)
    assert (run.outcome, run.attempt) == ("completed", 2)
    assert stage.book == ["one", "two", "three", "two"]
    assert any("What was done before stays done" in text for text in stage.shown()[-1].texts)


@on_stage
async def test_it_keeps_the_version_of_the_run(stage: Stage) -> None:
    stage.install(clerk())
    digest = (await stage.run(*STORY)).digest
    newer = clerk()
    newer.version = "1.0.1"
    newer.files["persona/identity.md"] = "# Identity\n\nAn older clerk.\n"
    stage.update(newer)
    await fork(stage, 3)
    run = await stage.go_on()
    assert (run.outcome, run.digest, run.version) == ("completed", digest, "1.0.0")

    shutil.rmtree(stage.home.snapshots / digest)
    with pytest.raises(PackageError, match="is gone"):
        await fork(stage, 3)


@on_stage
async def test_a_step_that_was_never_reached(stage: Stage) -> None:
    stage.install(clerk())
    run = await stage.run(ONE, step(1), step(2, "failed", "no ink"))
    with pytest.raises(CannotFork, match=r"never reached step 3: the last one it reached is step 2 \(Write"):
        await fork(stage, 3)
    for number in (0, 4, -1):
        with pytest.raises(UsageError, match=f"has no step {number}: there are steps 1 to 3"):
            await fork(stage, number)
    assert (await stage.report(run.id))["forks"] == []


@on_stage
async def test_a_call_under_way_before_the_mark_holds_it_back(stage: Stage) -> None:
    """The mark may stand in the same answer; the step begins when all before it is settled."""
    stage.install(clerk(tiers={"append": "confirm"}))
    both = calls(("ledger.append", {"line": "one"}), ("mark_step", {"step": 1, "status": "done"}))
    run = await stage.run(both, TWO, step(2), step(3), LAST)
    assert run.status == "waiting"
    with pytest.raises(CannotFork, match="the last one it reached is step 1"):
        await fork(stage, 2)


@on_stage
async def test_a_free_task_has_no_steps_until_it_takes_up_a_process(stage: Stage) -> None:
    stage.install(clerk())
    await stage.task("Tell me the time.", {"text": "It is noon."})
    with pytest.raises(CannotFork, match="is a free task"):
        await fork(stage, 1)

    begin = call("begin_process", process="work", inputs={})
    await stage.task("Write it all down.", begin, *STORY)
    assert stage.book == ["one", "two", "three"]
    await fork(stage, 3)
    run = await stage.go_on()
    assert (run.outcome, run.process) == ("completed", "work")
    assert stage.book == ["one", "two", "three", "three"]


@on_stage
async def test_a_checklist_that_changed_between_attempts(stage: Stage) -> None:
    stage.install(clerk())
    await stage.run(ONE, step(1), TWO, step(2), step(3, "failed", "no ink"), LAST)
    newer = clerk(work={"steps": ("Sharpen the pencil.", *WORK)})
    newer.version = "1.1.0"
    stage.update(newer)
    await retry_run(stage.database, stage.home, stage.run_id, {})
    await stage.go_on()
    with pytest.raises(ColleagueError, match="changed between its attempts"):
        await fork(stage, 3)


@on_stage
async def test_a_file_that_was_read_and_is_the_same_still_counts_as_read(stage: Stage) -> None:
    package = clerk()
    package.files["state/pipeline.md"] = markdown({"name": "pipeline"}, "# Pipeline\n\nThe first line.")
    stage.install(package)
    read = call("read", path="state/pipeline.md")
    change = call("write", path="state/pipeline.md", content="# Pipeline\n\nAnother.\n")
    unchanged = (read, step(1), {"text": "?"}, step(2), step(3), LAST)
    await stage.run(*unchanged)
    await fork(stage, 2, model=stage.play(*unchanged[:2], change, step(2), step(3), LAST, name="change"))
    assert (await stage.go_on()).outcome == "completed"
    [written] = await stage.calls("write")
    assert (written.status, written.is_error) == ("finished", False), written.result


@on_stage
async def test_private_text_stays_private(stage: Stage) -> None:
    package = clerk()
    floor = "The floor price of the blue barge is 4711.50 crowns."
    head = {"name": "prices", "type": "private"}
    package.files["knowledge/prices.md"] = markdown(head, f"# Prices\n\n{floor}")
    stage.install(package)
    await stage.run(call("ledger.append", line="one"), step(1, note=floor), *STORY[2:])
    await fork(stage, 2)
    await stage.go_on()
    [mark, *_] = await stage.database.read(lambda tx: steps_of(tx, stage.run_id))
    assert mark.note == floor
    assert "4711.50" not in json.dumps(await stage.report())


@on_stage
async def test_its_event_says_who_forked_what(stage: Stage) -> None:
    stage.install(clerk())
    await stage.run(*STORY)
    original = await fork(stage, 3)
    event = str((await stage.current()).event_id)
    told = await stage.database.read(lambda tx: event_document(tx, event))
    assert (told["trigger"], told["status"]) == ("fork", "queued")
    assert told["source"] == f"fork of run {original[-8:]} from step 3, by ann"
