"""What an expert proposes to remember: written down once, by the package's rule, and told from then on."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.experts.delivery.sender import LearningsChannel
from colleague.experts.workspace.learnings import LearningEntry, entries
from colleague.store.approvals import LEARNINGS, WrongDecision
from colleague.store.outbox import NO_READER, put_in_outbox, start_sending, waiting_outbox
from colleague.store.overview import unsent
from tests.integration.experts.package import Package, function, process, text
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, calls, finished

DONE = finished()


def learning(approval: str = "auto", **more: Any) -> Package:
    return Package(
        files={
            "functions/judge.md": function(outputs=[text("verdict")]),
            "functions/weigh.md": function("weigh", session="isolated", outputs=[text("verdict")]),
            "processes/work.md": process(functions=["judge", "weigh"]),
        },
        manifest={"learning": {"enabled": True, "approval": approval, **more}},
    )


def lesson(title: str = "Mondays", scope: str = "package", **more: Any) -> dict[str, Any]:
    entry = {"observation": f"Saw {title}", "correction": f"Do {title} better", "confidence": "high"}
    return {"scope": scope, "title": title, **entry, **more}


def propose(*titles: str, scope: str = "package", **more: Any) -> dict[str, Any]:
    return calls(*(("propose_learning", lesson(title, scope, **more)) for title in titles))


def kept(stage: Stage, scope: str = "package") -> list[LearningEntry]:
    return entries(stage.workspace().learnings, scope)


def titles(stage: Stage, scope: str = "package") -> list[str]:
    return [entry.title for entry in kept(stage, scope)]


@on_stage
async def test_auto_writes_it_down_at_once(stage: Stage) -> None:
    stage.install(learning())
    run = await stage.run(propose("Mondays"), DONE)
    assert run.outcome == "completed", run.error
    [entry] = kept(stage)
    assert (entry.title, entry.observation) == ("Mondays", "Saw Mondays")
    assert entry.correction == "Do Mondays better"
    assert (entry.date, entry.confidence) == ("2026-01-01", "high")
    assert entry.source == f"run {run.id[-8:]}, work"
    assert await stage.approvals() == []


@on_stage
async def test_confirm_asks_and_holds_nobody_up(stage: Stage) -> None:
    stage.install(learning("confirm"))
    run = await stage.run(propose("Mondays"), DONE)
    assert run.outcome == "completed", run.error
    assert kept(stage) == []
    proposal = await stage.pending()
    assert (proposal.kind, proposal.operation) == ("learning", "learning.append")
    assert (await stage.notice("proposal"))["arguments"]["title"] == "Mondays"
    with pytest.raises(WrongDecision):
        await stage.decide("done")

    await stage.restart()
    stage.clock.move(days=2)
    await stage.decided("approve")

    [entry] = kept(stage)
    assert (entry.title, entry.date) == ("Mondays", "2026-01-01")


@on_stage
async def test_a_no_learns_nothing(stage: Stage) -> None:
    stage.install(learning("confirm"))
    await stage.run(propose("Mondays"), DONE)
    await stage.decided("reject", note="it was a holiday")
    await stage.later(days=1)
    assert kept(stage) == []
    assert await stage.messages("learning") == []


@pytest.mark.parametrize("decision", ["done", "not_done"])
@on_stage
async def test_manual_leaves_it_to_a_person(stage: Stage, decision: str) -> None:
    stage.install(learning("manual"))
    run = await stage.run(propose("Mondays"), DONE)
    assert run.outcome == "completed", run.error
    assert (await stage.pending()).kind == "draft"
    await stage.decided(decision)
    assert kept(stage) == []


@on_stage
async def test_without_learning_nothing_is_offered(stage: Stage) -> None:
    package = learning()
    package.manifest = {"learning": {"enabled": False, "approval": "auto"}}
    stage.install(package)
    await stage.run(propose("Mondays"), DONE)
    assert "propose_learning" not in stage.shown()[0].tools
    assert kept(stage) == []


@on_stage
async def test_the_process_dies_before_the_file_is_written(stage: Stage) -> None:
    stage.install(learning("confirm"))
    await stage.run(propose("Mondays"), DONE)
    await stage.decide("approve")
    [message] = await stage.database.read(waiting_outbox)
    assert await stage.database.write(lambda tx: start_sending(tx, message))

    await stage.restart()
    await stage.later(seconds=121)

    assert titles(stage) == ["Mondays"]
    assert await stage.database.read(unsent) == 0


@on_stage
async def test_the_process_dies_after_the_file_is_written(stage: Stage) -> None:
    stage.install(learning("confirm"))
    await stage.run(propose("Mondays"), DONE)
    await stage.decide("approve")
    [message] = await stage.database.read(waiting_outbox)
    assert await stage.database.write(lambda tx: start_sending(tx, message))
    await LearningsChannel(stage.settings.workspace).send(message)
    assert titles(stage) == ["Mondays"]

    await stage.restart()
    await stage.later(seconds=121)
    await stage.later(days=1)

    assert titles(stage) == ["Mondays"]
    assert await stage.database.read(unsent) == 0


@on_stage
async def test_over_the_cap_the_oldest_are_archived(stage: Stage) -> None:
    stage.install(learning(max_entries_per_file=3))
    await stage.run(propose("a", "b"), propose("c", "d", "e"), DONE)
    assert titles(stage) == ["c", "d", "e"]
    archived = entries(stage.workspace().learnings / "archive", "package")
    assert [entry.title for entry in archived] == ["a", "b"]


@on_stage
async def test_the_next_run_is_told(stage: Stage) -> None:
    stage.install(learning())
    await stage.run(propose("Mondays"), DONE)
    assert "Mondays" not in stage.shown()[-1].system
    await stage.run(DONE)
    [shown] = stage.shown()
    assert "## Learnings" in shown.system
    assert "Do Mondays better" in shown.system
    assert "<!-- learning" not in shown.system


@on_stage
async def test_a_functions_learnings_come_with_its_file(stage: Stage) -> None:
    stage.install(learning())
    await stage.run(propose("Mondays", scope="judge"), DONE)
    assert (titles(stage, "judge"), titles(stage)) == (["Mondays"], [])

    paths = ("functions/judge.md", "./functions/judge.md", "functions/weigh.md")
    await stage.run(calls(*(("read", {"path": path}) for path in paths)), DONE)

    assert "Mondays" not in stage.shown()[-1].system
    judge, again, weigh = stage.shown()[-1].texts[-3:]
    assert "## Learnings for judge" in judge
    assert "Do Mondays better" in judge
    assert "Do Mondays better" in again
    assert "Mondays" not in weigh


@on_stage
async def test_an_isolated_function_is_told_its_own_learnings_only(stage: Stage) -> None:
    stage.install(learning())
    await stage.run(propose("Weighing", scope="weigh"), propose("Judging", scope="judge"), DONE)
    stage.play(
        {"when": "Run the process", **call("function.weigh")},
        {"when": "Apply weigh", **call("complete", narrative="", outputs={"verdict": "light"})},
        {"when": "light", **DONE},
    )
    await stage.ask()
    run = await stage.go_on()
    assert run.outcome == "completed", run.error
    child = stage.shown()[1]
    assert "Do Weighing better" in child.system
    assert "Judging" not in child.system


@on_stage
async def test_a_scope_that_is_no_function_is_refused(stage: Stage) -> None:
    stage.install(learning())
    run = await stage.run(propose("Mondays", scope="../../etc"), DONE)
    assert run.outcome == "completed", run.error
    [refused] = await stage.calls("propose_learning")
    assert refused.status == "refused"
    assert list(stage.workspace().learnings.glob("**/*.md")) == []


@on_stage
async def test_words_that_nobody_asked_for_are_left_out(stage: Stage) -> None:
    """A proposal cannot say whose learning it is, when, or how many are kept, and never blocks the post."""
    stage.install(learning())
    more = {
        "id": "mine",
        "expert": "someone-else",
        "most": 0,
        "date": "1999-01-01",
        "source": "me",
        "tags": [],
    }
    run = await stage.run(propose("Mondays", **more), propose("Tuesdays"), DONE)
    assert run.outcome == "completed", run.error
    assert titles(stage) == ["Mondays", "Tuesdays"]
    assert kept(stage)[0].date == "2026-01-01"
    assert kept(stage)[0].id != "mine"
    assert await stage.database.read(unsent) == 0


@on_stage
async def test_one_that_cannot_be_written_holds_up_no_other(stage: Stage) -> None:
    stage.install(learning())
    await stage.run(DONE)
    for subject, body in (("1", '{"no": "learning"}'), ("2", "[]")):
        await stage.database.write(
            lambda tx, s=subject, b=body: put_in_outbox(tx, stage.run_id, "learning", s, LEARNINGS, b)  # type: ignore[misc]
        )
    await stage.run(propose("Mondays"), DONE)
    assert titles(stage) == ["Mondays"]
    assert await stage.database.read(unsent) == 2
    assert (await stage.report())["delivery"]["error"] == NO_READER


@on_stage
async def test_many_runs_learn_at_once(stage: Stage) -> None:
    stage.install(learning())
    stage.play(propose("Mondays"), DONE)
    for _ in range(8):
        await stage.ask()
    await stage.go_on()
    assert len(kept(stage)) == 8
    assert len({entry.id for entry in kept(stage)}) == 8
