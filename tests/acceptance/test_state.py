"""colleague state: looking at the versions of an expert's files, and putting one back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

import pytest

from colleague.agent.tools.versioned import CurrentFile, FileChange, VersionedTree
from colleague.clock import SystemClock
from colleague.experts.workspace.expert_tree import expert_tree
from colleague.experts.workspace.workspace import Workspace
from colleague.store.sqlite import SqliteDatabase
from colleague.store.versions import Author
from tests.acceptance.test_with_gateway import serving
from tests.conftest import SALES, Colleague, tree

PIPELINE = "state/pipeline.md"
RUN = "0197a5f0-0000-7000-8000-00000000abcd"


def in_home(colleague: Colleague, work: Callable[[VersionedTree], Awaitable[object]]) -> None:
    """Works on the expert's files as a run does."""
    workspace = Workspace.of(colleague.home / "workspace", SALES)

    async def go() -> None:
        database = SqliteDatabase(colleague.home / "state" / "colleague.sqlite", SystemClock())
        files = expert_tree(colleague.expert(), workspace, private=())
        try:
            await work(VersionedTree(files, database, SALES, colleague.home / "state" / "file-locks"))
        finally:
            await database.close()

    asyncio.run(go())


def always(text: str) -> Callable[[CurrentFile], bytes]:
    return lambda _: text.encode()


def write(colleague: Colleague, path: str, *texts: str) -> None:
    async def work(files: VersionedTree) -> None:
        for number, text in enumerate(texts):
            await files.change(path, FileChange(Author(RUN, f"{path}-{number}"), always(text), whole=True))

    in_home(colleague, work)


def pipeline(colleague: Colleague) -> Path:
    return colleague.home / "workspace" / "expert-state" / SALES / PIPELINE


@pytest.fixture
def changed(installed: Colleague) -> Colleague:
    """The template, then two texts that a run wrote."""
    write(installed, PIPELINE, "one\n", "two, and more\n")
    return installed


@pytest.mark.parametrize("file", [PIPELINE, "pipeline.md", "./state/pipeline.md"])
def test_history(changed: Colleague, file: str) -> None:
    said = changed.ok("state", "history", SALES, file, "--json").json
    assert [each["version"] for each in said] == [3, 2, 1]
    assert [each["run_id"] for each in said] == [RUN, RUN, None]
    assert [each["size"] for each in said[:2]] == [14, 4]
    assert {each["path"] for each in said} == {PIPELINE}
    assert datetime.fromisoformat(said[0]["written_at"]).tzinfo is not None
    lines = changed.ok("state", "history", SALES, file).out.splitlines()
    assert lines[0].split() == ["VERSION", "WRITTEN", "BY", "BYTES"]
    assert lines[1].split()[0] == "3"
    assert lines[1].split()[2:] == ["0000abcd", "14"]
    assert "a person" in lines[3]
    assert len(changed.ok("state", "history", SALES, file, "--limit", "1", "--json").json) == 1


def test_a_limit_says_that_there_is_more(changed: Colleague) -> None:
    said = changed.ok("state", "history", SALES, PIPELINE, "--limit", "1")
    assert "there are 2 older ones: add --limit 3" in said.err
    assert changed.ok("state", "history", SALES, PIPELINE, "--limit", "3").err == ""


def test_show(changed: Colleague) -> None:
    assert changed.ok("state", "show", SALES, "pipeline.md").out == "two, and more\n"
    assert changed.ok("state", "show", SALES, "pipeline.md", "--version", "2").out == "one\n"
    document = changed.ok("state", "show", SALES, PIPELINE, "--version", "2", "--json").json
    assert (document["version"], document["author"], document["text"]) == (2, RUN, "one\n")
    said = changed("state", "show", SALES, PIPELINE, "--version", "9")
    assert (said.code, "has no version 9" in said.err) == (1, True)


def test_a_file_that_no_run_has_changed_is_shown_as_it_is(installed: Colleague) -> None:
    text = pipeline(installed).read_text()
    assert installed.ok("state", "show", SALES, "pipeline.md").out == text
    document = installed.ok("state", "show", SALES, PIPELINE, "--json").json
    assert (document["path"], document["version"], document["text"]) == (PIPELINE, None, text)
    assert installed("state", "show", SALES, "pipeline.md", "--version", "1").code == 1
    for wrong in ("nothing.md", "../../../colleague.json", "state", "/etc/passwd"):
        assert installed("state", "show", SALES, wrong).code == 1, wrong


def test_why_there_is_no_version(installed: Colleague) -> None:
    for command in (("history",), ("diff",), ("restore", "1")):
        said = installed("state", command[0], SALES, "pipeline.md", *command[1:])
        assert f"{PIPELINE} has no versions yet: no run has changed it" in said.err, command
        assert f"colleague state show {SALES} pipeline.md" in said.err
        assert said.code == 1
    said = installed("state", "history", SALES[:-1], "pipeline.md")
    assert (said.code, f"did you mean '{SALES}'?" in said.err) == (1, True)


def test_diff(changed: Colleague) -> None:
    newest = changed.ok("state", "diff", SALES, "pipeline.md").out.splitlines()
    names = [f"--- {PIPELINE} version 2", f"+++ {PIPELINE} version 3"]
    assert newest == [*names, "@@ -1 +1 @@", "-one", "+two, and more"]
    back = changed.ok("state", "diff", SALES, "pipeline.md", "3", "2", "--json").json
    assert (back["from"], back["to"], "+one" in back["diff"]) == (3, 2, True)
    same = changed.ok("state", "diff", SALES, PIPELINE, "2", "2").out
    assert same == f"{PIPELINE}: versions 2 and 2 are equal\n"
    assert changed("state", "diff", SALES, "nothing.md").code == 1


def test_restore_while_a_gateway_runs(changed: Colleague) -> None:
    with serving(changed):
        said = changed.ok("state", "restore", SALES, "pipeline.md", "2")
        assert said.out == f"✓ {PIPELINE} is as in version 2 again, now version 4\n"
        assert pipeline(changed).read_text() == "one\n"
        assert "already" in changed.ok("state", "restore", SALES, "pipeline.md", "2").out
        missing = changed("state", "restore", SALES, "pipeline.md", "99")
        assert (missing.code, "has no version 99" in missing.err) == (1, True)
        assert changed("state", "restore", "nobody", "pipeline.md", "1").code == 1


def test_the_files_that_have_versions(changed: Colleague) -> None:
    write(changed, "scratch/triage-1.md", "x")
    said = changed.ok("state", "history", SALES, "--json").json
    assert [(each["path"], each["versions"]) for each in said] == [("scratch/triage-1.md", 1), (PIPELINE, 3)]
    assert f"{PIPELINE}" in changed.ok("state", "history", SALES).out


def test_nothing_yet(installed: Colleague) -> None:
    assert installed.ok("state", "history", SALES).out == f"No file of {SALES} has been changed yet.\n"
    assert installed.ok("state", "history", SALES, "--json").json == []


def test_restore(changed: Colleague) -> None:
    said = changed.ok("state", "restore", SALES, "pipeline.md", "2")
    assert f"{PIPELINE} is as in version 2 again, now version 4" in said.out
    assert pipeline(changed).read_text() == "one\n"
    again = changed.ok("state", "restore", SALES, PIPELINE, "2")
    assert again.out == f"{PIPELINE} has the text of version 2 already\n"
    assert len(changed.ok("state", "history", SALES, PIPELINE, "--json").json) == 4


def test_an_unrecorded_edit_of_a_person_is_kept(changed: Colleague) -> None:
    pipeline(changed).write_text("by hand\n")
    changed.ok("state", "restore", SALES, PIPELINE, "1")
    assert len(changed.ok("state", "history", SALES, PIPELINE, "--json").json) == 5
    changed.ok("state", "restore", SALES, PIPELINE, "4")
    assert pipeline(changed).read_text() == "by hand\n"


def test_a_file_that_was_removed_comes_back(changed: Colleague) -> None:
    pipeline(changed).unlink()
    changed.ok("state", "restore", SALES, PIPELINE, "3")
    assert pipeline(changed).read_text() == "two, and more\n"


def test_a_broken_package_does_not_stand_in_the_way(changed: Colleague) -> None:
    (changed.expert() / "expert.yaml").write_text("name: [")
    changed.ok("state", "restore", SALES, PIPELINE, "2")
    assert pipeline(changed).read_text() == "one\n"


def test_the_history_outlives_the_expert(changed: Colleague) -> None:
    changed.ok("expert", "remove", SALES, "--yes")
    assert len(changed.ok("state", "history", SALES, PIPELINE, "--json").json) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("history", "nobody"), 1, "there is no expert 'nobody'"),
        (("history", SALES, "nothing.md"), 1, "has no version of 'nothing.md'"),
        (("history", SALES, "../../../etc/passwd"), 1, "has no version of"),
        (("restore", "nobody", PIPELINE, "1"), 1, "there is no expert 'nobody'"),
        (("restore", SALES, PIPELINE, "9"), 1, "has no version 9"),
        (("restore", SALES, "nothing.md", "1"), 1, "has no version of 'nothing.md'"),
        (("restore", SALES, PIPELINE, "0"), 2, "Invalid value"),
        (("restore", SALES, PIPELINE, "x"), 2, "Invalid value"),
        (("restore", SALES, PIPELINE), 2, "Missing argument"),
    ],
)
def test_errors_are_one_sentence(
    changed: Colleague, arguments: tuple[str, ...], code: int, words: str
) -> None:
    before = tree(changed.home / "workspace")
    said = changed("state", *arguments)
    assert said.code == code
    assert words in said.err
    assert "Traceback" not in said.err
    assert tree(changed.home / "workspace") == before


def test_a_link_in_its_place_is_not_followed(changed: Colleague, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("outside")
    pipeline(changed).unlink()
    pipeline(changed).symlink_to(outside)
    said = changed("state", "restore", SALES, PIPELINE, "2")
    assert said.code == 1
    assert "is a link" in said.err
    assert outside.read_text() == "outside"
