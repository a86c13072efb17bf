"""Tools that are bound to a skill: its words reach the expert, and its tools do the work under the policy."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.integration.experts.package import function, ledger_package
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished

DONE = finished()
SKILL = {"tools": {"ledger": {"type": "skill", "skill": "book-keeping"}}}


def put_skill(stage: Stage, allowed: Any, *, home: bool = False) -> None:
    folder = (stage.root if home else stage.settings.workspace) / "skills" / "book-keeping"
    folder.mkdir(parents=True, exist_ok=True)
    head = yaml.safe_dump(
        {"name": "book-keeping", "description": "How we keep books", "allowed-tools": allowed}
    )
    (folder / "SKILL.md").write_text(f"---\n{head}---\n\n# Book-keeping\n\nNever write in red ink.\n")


@pytest.mark.parametrize("home", [True, False], ids=["in the home", "in the workspace"])
@pytest.mark.parametrize(
    "allowed", ["mcp__ledger__append, mcp__ledger__look", ["ledger/append", "ledger/look"], "mcp__ledger"]
)
@on_stage
async def test_an_operation_is_done_by_a_tool_of_the_skill_and_asked_like_any(
    stage: Stage, allowed: Any, home: bool
) -> None:
    stage.install(ledger_package(tiers={"append": "confirm"}), **SKILL)
    put_skill(stage, allowed, home=home)
    run = await stage.run(call("ledger.append", line="one"), call("ledger.look"), DONE)
    assert (run.status, stage.book) == ("waiting", [])
    assert (await stage.pending()).operation == "ledger.append"
    await stage.restart()
    run = await stage.decided("approve")
    assert (run.outcome, stage.book) == ("completed", ["one"]), run.error
    [made] = await stage.calls("ledger.append")
    assert (made.server, made.tool) == ("ledger", "append")
    system = stage.shown()[0].system
    assert "## Skills\n" in system
    assert "### book-keeping, for ledger\n\n#### Book-keeping\n\nNever write in red ink." in system


@on_stage
async def test_only_the_tools_that_the_skill_allows(stage: Stage) -> None:
    stage.install(ledger_package(), **SKILL)
    put_skill(stage, "mcp__ledger__look")
    await stage.run(call("ledger.append", line="one"), DONE)
    assert stage.book == []
    assert {name for name in stage.shown()[0].tools if name.startswith("ledger")} == {"ledger.look"}


@on_stage
async def test_an_operation_of_another_name_is_mapped(stage: Stage) -> None:
    bindings = {"type": "skill", "skill": "book-keeping", "operations": {"put": "ledger/append"}}
    stage.install(ledger_package(), tools={"ledger": bindings})
    put_skill(stage, "ledger/append")
    run = await stage.run(call("ledger.put", line="one"), DONE)
    assert (run.outcome, stage.book) == ("completed", ["one"]), run.error
    [made] = await stage.calls("ledger.put")
    assert made.tool == "append"


@pytest.mark.parametrize("tier", ["auto", "confirm", "manual"])
@on_stage
async def test_a_file_tool_is_under_the_tier_of_the_operation(stage: Stage, tier: str) -> None:
    bindings = {"type": "skill", "skill": "book-keeping", "operations": {"append": "write"}}
    stage.install(ledger_package(tiers={"append": tier}), tools={"ledger": bindings})
    put_skill(stage, "Write")
    written = call("ledger.append", path="scratch/book.md", text="one\n")
    run = await stage.run(written, call("read", path="scratch/book.md"), DONE)
    if tier == "confirm":
        assert run.status == "waiting"
        await stage.restart()
        run = await stage.decided("approve")
    assert run.outcome == "completed", run.error
    [read] = await stage.calls("read")
    assert ("one" in (read.result or "")) == (tier != "manual")
    assert [each.kind for each in await stage.approvals()] == (
        {"auto": [], "confirm": ["confirm"], "manual": ["draft"]}[tier]
    )


@on_stage
async def test_an_isolated_function_gets_the_skill_of_its_tools(stage: Stage) -> None:
    package = ledger_package(work={"functions": ["judge"]})
    package.files["functions/judge.md"] = function(session="isolated", tools=["ledger"], outputs=[])
    stage.install(package, **SKILL)
    put_skill(stage, "mcp__ledger")
    stage.play(
        {"when": "Run the process", **call("function.judge")},
        {"when": "Apply judge", **call("ledger.append", line="inside")},
        {"when": "written", **call("complete", narrative="Judged.", outputs={})},
        DONE,
    )
    await stage.ask()
    run = await stage.go_on()
    assert (run.outcome, stage.book) == ("completed", ["inside"]), run.error
    assert "Never write in red ink." in stage.shown()[1].system


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (
            "metadata: {openclaw: {requires: {bins: [no-such-program]}}}",
            "cannot be used: the program",
        ),
        ('metadata: {"openclaw": {"requires": [', "is broken: "),
    ],
)
@on_stage
async def test_a_skill_that_cannot_be_used_stops_the_run(stage: Stage, head: str, said: str) -> None:
    stage.install(ledger_package(), **SKILL)
    put_skill(stage, "mcp__ledger")
    file = stage.settings.workspace / "skills" / "book-keeping" / "SKILL.md"
    file.write_text(file.read_text().replace("---\n", f"---\n{head}\n", 1))
    run = await stage.run(call("ledger.append", line="one"), DONE)
    assert (run.outcome, stage.book) == ("failed", [])
    assert f"ledger is bound to the skill 'book-keeping', which {said}" in (run.error or "")


@on_stage
async def test_a_skill_that_is_gone_stops_the_run_with_a_cure(stage: Stage) -> None:
    stage.install(ledger_package(), **SKILL)
    run = await stage.run(DONE)
    assert run.outcome == "failed"
    assert "ledger is bound to the skill 'book-keeping', which is not installed" in (run.error or "")
    assert "skills/book-keeping/SKILL.md" in (run.error or "")


@on_stage
async def test_the_files_of_the_skill_are_read_on_demand_and_never_written(stage: Stage) -> None:
    stage.install(ledger_package(), **SKILL)
    put_skill(stage, "mcp__ledger", home=True)
    folder = stage.root / "skills" / "book-keeping"
    (folder / "tables").mkdir()
    (folder / "tables/rates.md").write_text("Seven per cent.\n")
    (stage.root / "skills/other").mkdir()
    (stage.root / "skills/other/SKILL.md").write_text("not bound")
    (folder / "link.md").symlink_to(stage.root / "colleague.json")
    paths = ["skills/book-keeping/tables/rates.md", "skills/other/SKILL.md", "skills/book-keeping/link.md"]
    run = await stage.run(
        *(call("read", path=path) for path in paths),
        call("ls", path="."),
        call("ls", path="skills"),
        call("grep", pattern="per cent"),
        call("write", path="skills/book-keeping/tables/rates.md", text="None.\n"),
        call("write", path="skills/new.md", text="None.\n"),
        DONE,
    )
    assert run.outcome == "completed", run.error
    rates, other, link = await stage.calls("read")
    assert "Seven per cent." in (rates.result or "")
    assert "skill:skills/book-keeping/tables/rates.md" in (rates.result or "")
    assert "There is no skills/other" in (other.result or "")
    assert "is a link" in (link.result or "")
    top, skills = await stage.calls("ls")
    assert "skills/" in (top.result or "")
    assert "book-keeping/" in (skills.result or "")
    assert "other" not in (skills.result or "")
    [found] = await stage.calls("grep")
    assert "skills/book-keeping/tables/rates.md:1: Seven per cent." in (found.result or "")
    assert all(each.is_error for each in await stage.calls("write"))
    assert (folder / "tables/rates.md").read_text() == "Seven per cent.\n"
    assert "Its other files are in skills/book-keeping/" in stage.shown()[0].system
