"""State files: a session has its own, a persistent one is everybody's, and nobody's words are lost."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.experts.workspace.file_history import version_document, versions_of
from colleague.store.tx import Tx
from tests.integration.experts.package import CLERK, Package, ledger_package, markdown, process
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished, step

DONE = finished()
NOTES = markdown({"name": "notes", "scope": "session"}, "# Notes")
PIPELINE = markdown({"name": "pipeline", "scope": "persistent"}, "# Pipeline\n\n## Movements")
READ = call("read", path="state/notes.md")


def keeping(**more: Any) -> Package:
    package = ledger_package(tiers={"append": "confirm"}, **more)
    package.files |= {"state/notes.md": NOTES, "state/pipeline.md": PIPELINE}
    return package


def note(text: str) -> dict[str, Any]:
    return call("edit", path="state/notes.md", edits=[{"old": "# Notes", "new": f"# Notes\n\n{text}"}])


def moved(text: str) -> dict[str, Any]:
    edits = [{"old": "## Movements", "new": f"## Movements\n\n- {text}"}]
    return call("edit", path="state/pipeline.md", edits=edits)


def pipeline(stage: Stage) -> str:
    return (stage.workspace().state / "pipeline.md").read_text()


@on_stage
async def test_a_session_begins_with_the_template(stage: Stage) -> None:
    stage.install(keeping())
    await stage.run(READ, note("from the first"), READ, DONE)
    first = stage.shown()
    assert "from the first" in first[-1].texts[-1]

    await stage.run(READ, DONE)

    assert "# Notes" in stage.shown()[-1].texts[-1]
    assert "from the first" not in stage.shown()[-1].texts[-1]
    assert "from the first" not in (stage.workspace().state / "notes.md").read_text()


@on_stage
async def test_each_task_begins_with_the_template_and_keeps_its_file_over_an_approval(stage: Stage) -> None:
    stage.install(keeping())
    wait = call("ledger.append", line="one")
    await stage.task("Look", READ, note("from the first"), wait, READ, {"text": "Done."})
    await stage.restart()
    run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    assert "from the first" in stage.shown()[-1].texts[-1]

    await stage.task("Look again", READ, {"text": "Done."})

    assert "# Notes" in stage.shown()[-1].texts[-1]
    assert "from the first" not in stage.shown()[-1].texts[-1]
    assert list(stage.workspace().sessions.glob("*")) == []


@on_stage
async def test_the_next_attempt_of_a_task_is_the_same_session(stage: Stage) -> None:
    retry = {"retry": {"max_attempts": 2, "delay": "10s"}}
    stage.install(keeping(execution=retry))
    begun = call("begin_process", process="work", inputs={})
    await stage.task("Look", begun, READ, note("before"), step(1, "failed"), READ, DONE)
    await stage.restart()
    await stage.later(seconds=10)
    assert "before" in stage.shown()[-1].texts[-1]


@on_stage
async def test_persistent_state_carries_over(stage: Stage) -> None:
    stage.install(keeping())
    await stage.run(call("read", path="state/pipeline.md"), moved("d-acme"), DONE)
    await stage.restart()
    await stage.run(call("read", path="state/pipeline.md"), DONE)
    assert "- d-acme" in stage.shown()[-1].texts[-1]


@on_stage
async def test_two_sessions_at_once_do_not_share(stage: Stage) -> None:
    stage.install(keeping())
    wait = call("ledger.append", line="one")
    runs = {}
    for name in ("ann", "bob"):
        stage.play(READ, note(f"words of {name}"), wait, READ, DONE, name=name)
        runs[name] = await stage.ask(model=f"script/{name}.yaml")
    await stage.go_on()
    await stage.restart()
    for run_id in runs.values():
        await stage.decide("approve", await stage.pending(run_id))
    await stage.go_on()

    for name, run_id in runs.items():
        assert (await stage.current(run_id)).outcome == "completed"
        read = stage.shown(run_id)[-1].texts[-1]
        assert f"words of {name}" in read
        assert read.count("words of") == 1
    assert list(stage.workspace().sessions.glob("*")) == []


@on_stage
async def test_the_next_attempt_is_the_same_session(stage: Stage) -> None:
    execution = {"retry": {"max_attempts": 2, "delay": "10s"}}
    stage.install(keeping(work={"execution": execution}))
    await stage.run(READ, note("before the failure"), step(1, "failed"), READ, DONE)
    await stage.restart()
    run = await stage.later(seconds=10)
    assert run.outcome == "completed", run.error
    assert "before the failure" in stage.shown()[-1].texts[-1]


def by_contact() -> Package:
    package = keeping(
        triggers=[
            {
                "name": "mail",
                "type": "webhook",
                "process": "work",
                "concurrency": "serial_per_key",
                "concurrency_key": "contact",
            }
        ]
    )
    inputs = [{"name": "contact", "type": "string"}]
    package.files["processes/work.md"] = process(trigger="mail", tools=["ledger"], inputs=inputs)
    return package


@on_stage
async def test_runs_on_different_keys_that_edit_one_file_lose_nothing(stage: Stage) -> None:
    """Six contacts, each with twelve edits, all at the same time."""
    stage.install(by_contact())
    contacts = [f"c{number}" for number in range(6)]
    for contact in contacts:
        edits = [moved(f"{contact} {number}.") for number in range(12)]
        stage.play(call("read", path="state/pipeline.md"), *edits, DONE, name=contact)
        await stage.ask(inputs={"contact": contact}, model=f"script/{contact}.yaml")

    await stage.go_on()

    lines = pipeline(stage).splitlines()
    for contact in contacts:
        mine = [line for line in lines if line.startswith(f"- {contact} ")]
        assert mine == [f"- {contact} {number}." for number in reversed(range(12))]


@on_stage
async def test_a_whole_file_over_unread_words_is_refused(stage: Stage) -> None:
    stage.install(keeping())
    wait = call("ledger.append", line="one")
    text = "# Pipeline\n\nnew broom\n"
    stage.play(
        call("read", path="state/pipeline.md"),
        wait,
        call("write", path="state/pipeline.md", text=text),
        moved("mine"),
        DONE,
        name="ann",
    )
    ann = await stage.ask(model="script/ann.yaml")
    await stage.go_on()
    await stage.run(call("read", path="state/pipeline.md"), moved("of another"), DONE)

    await stage.decide("approve", await stage.pending(ann))
    run = await stage.go_on(ann)

    assert run.outcome == "completed", run.error
    [refused] = await stage.calls("write", ann)
    assert refused.is_error
    assert "of another" in stage.shown(ann)[-2].texts[-1]
    assert "- of another" in pipeline(stage)
    assert "- mine" in pipeline(stage)


@pytest.mark.parametrize("path", ["../../colleague.json", "/etc/passwd", "expert.yaml", "state/../../x.md"])
@on_stage
async def test_nothing_outside_is_written(stage: Stage, path: str) -> None:
    stage.install(keeping())
    await stage.run(call("write", path=path, text="mine now"), DONE)
    [made] = await stage.calls("write")
    assert made.is_error
    assert "mine now" not in stage.home.settings_file.read_text()
    assert not (stage.root / "workspace" / "x.md").exists()


@on_stage
async def test_the_first_version_is_the_packages_until_a_person_wrote(stage: Stage) -> None:
    stage.install(keeping())
    await stage.run(call("read", path="state/pipeline.md"), moved("d-acme"), DONE)
    run_id = stage.run_id

    def authors(tx: Tx) -> list[str]:
        found = versions_of(tx, CLERK, "pipeline.md")
        return [version_document(tx, stage.home, each)["author"] for each in found]

    assert await stage.database.read(authors) == [run_id, "package clerk 1.0.0"]

    (stage.workspace().state / "pipeline.md").write_text("# Mine\n\n## Movements\n")
    await stage.run(call("read", path="state/pipeline.md"), moved("d-two"), DONE)
    assert (await stage.database.read(authors))[1:] == ["a person", run_id, "package clerk 1.0.0"]
