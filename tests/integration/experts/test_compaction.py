"""Runs of experts that are longer than their model can read."""

from __future__ import annotations

from typing import Any

from colleague.experts.runs.fork import planned_fork
from colleague.experts.runs.preflight import Preflight
from tests.integration.experts.package import Package, markdown, process, text
from tests.integration.experts.stage import Stage, on_stage

STEPS = ("Read every page of the book.", "Write the verdict about INV-2024-0017.")
PAGES = ("one", "two", "three", "four", "five")


def when(pattern: str, *operations: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    calls = [{"operation": name, "arguments": arguments} for name, arguments in operations]
    return {"when": pattern, "calls": calls}


def page(name: str) -> str:
    head = {"title": f"Page {name}", "description": f"Page {name}"}
    return markdown(head, f"# Page {name}\n\nThis is PAGE-{name}.\n\n" + f"Line about {name}.\n" * 600)


def long_package() -> Package:
    work = process(steps=STEPS, inputs=[text("customer")], outputs=[text("verdict")])
    pages = {f"knowledge/{name}.md": page(name) for name in PAGES}
    return Package(files={"processes/work.md": work, **pages})


def replies() -> list[dict[str, Any]]:
    reads = [("read", {"path": f"knowledge/{name}.md"}) for name in PAGES]
    following = [when(f"PAGE-{name}", following) for name, following in zip(PAGES, reads[1:], strict=False)]
    outputs = {"narrative": "All pages are read.", "outputs": {"verdict": "fine"}}
    marks = [("mark_step", {"step": number, "status": "done"}) for number in (1, 2)]
    return [
        {"when": "Summarise this conversation", "text": "Some pages were read."},
        *following,
        when("PAGE-five", *marks, ("complete", outputs)),
        when("Run the process", reads[0]),
    ]


@on_stage
async def test_a_fork_goes_on_with_the_summary(stage: Stage) -> None:
    stage.install(long_package())
    model = stage.play(*replies(), context_window=14_000)
    asked = stage.invocation(model)
    await stage.accept(asked.process(asked.package.processes[0], {"customer": "Ann of K-77-Z"}))
    original = await stage.go_on()
    stage.events.clear()

    outputs = {"narrative": "Once more.", "outputs": {"verdict": "fine"}}
    again = when(
        "The work is taken up again", ("mark_step", {"step": 2, "status": "done"}), ("complete", outputs)
    )
    stage.play(again, context_window=14_000)
    preflight = Preflight(stage.home, stage.settings, stage.environ)
    fork = planned_fork(preflight, original, 2, "ann")
    accepted = await stage.database.write(lambda tx: fork.start(tx, original.id))
    stage.run_id = str(accepted.run_id)
    run = await stage.go_on()

    assert (run.outcome, run.narrative) == ("completed", "Once more.")
    assert not [event for event in stage.events if event.kind.startswith("auto_compaction")]
    shown = "".join(stage.shown()[0].texts)
    assert "Some pages were read." in shown
    assert "PAGE-one" not in shown


@on_stage
async def test_checklist_inputs_and_outputs_stay_word_for_word(stage: Stage) -> None:
    stage.install(long_package())
    model = stage.play(*replies(), context_window=14_000)
    asked = stage.invocation(model)
    await stage.accept(asked.process(asked.package.processes[0], {"customer": "Ann of K-77-Z"}))
    run = await stage.go_on()

    assert (run.outcome, run.error) == ("completed", None)
    ends = [event.data for event in stage.events if event.kind == "auto_compaction_end"]
    assert ends
    assert {end["outcome"] for end in ends} == {"completed"}
    last = stage.shown()[-1].texts
    assert "Some pages were read." in last[0]
    assert "PAGE-one" not in "".join(last)
    body = asked.package.processes[0].body
    for kept in (body, "Ann of K-77-Z", '"verdict"', f"1. open: {STEPS[0]}"):
        assert kept in last[0]
