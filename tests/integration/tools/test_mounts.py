"""A mounted file is in its place for every tool, and what its root has there is never seen."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from colleague.agent.tools.path import PathError
from colleague.agent.tools.run_files import RunFiles
from colleague.agent.tools.staged import temporary_name
from colleague.agent.tools.tree import Root, Tree
from colleague.store.versions import hash_of
from tests.integration.tools.desk import OWNER, Desk, Session
from tests.integration.tools.processes import die_in_a_call

NOTES = "state/session-notes.md"
TEMPLATE = "# Notes\n"
SHARED = "shared by all\n"


def with_notes(desk: Desk, run_id: str) -> Desk:
    """A desk at which a run has notes of its own."""
    own = desk.workspace / "sessions" / run_id / NOTES
    own.parent.mkdir(parents=True)
    own.write_text(TEMPLATE)
    desk.file(NOTES).write_text(SHARED)
    return replace(desk, mounts={NOTES: own})


def own_notes(desk: Desk) -> str:
    return desk.mounts[NOTES].read_text()


@pytest.fixture
def noting(desk: Desk) -> Desk:
    return with_notes(desk, "run-1")


@pytest.fixture
def sqlite_noting(sqlite_desk: Desk) -> Desk:
    return with_notes(sqlite_desk, "run-1")


def test_every_tool_sees_it_in_its_place(noting: Desk) -> None:
    async def work(session: Session) -> None:
        assert await session.ok("read", path=NOTES) == TEMPLATE
        assert "session-notes.md  8 bytes" in await session.ok("ls", path="state")
        assert await session.ok("find", pattern="session-*") == NOTES
        assert await session.ok("grep", pattern="Notes") == f"{NOTES}:1: # Notes"
        assert await session.ok("grep", pattern="shared") == "[nothing matches]"
        said = await session.ok("write", path=NOTES, text="# Notes\n- one\n")
        assert said == f"{NOTES} is written: version 2, 2 lines, 14 bytes."
        await session.ok("edit", path=NOTES, edits=[{"old": "one", "new": "two"}])

    noting.run(work)
    assert own_notes(noting) == "# Notes\n- two\n"
    assert noting.file(NOTES).read_text() == SHARED
    assert noting.call("read", path="state/pipeline.md").text.startswith("# Pipeline")


def test_one_that_does_not_exist_yet(sqlite_noting: Desk) -> None:
    sqlite_noting.mounts[NOTES].unlink()
    sqlite_noting.mounts[NOTES].parent.rmdir()
    assert "session-notes" not in sqlite_noting.call("ls", path="state").text
    assert sqlite_noting.call("read", path=NOTES).text.startswith(f"There is no {NOTES}.")
    assert not sqlite_noting.call("write", path=NOTES, text="new").is_error
    assert own_notes(sqlite_noting) == "new"
    assert sqlite_noting.file(NOTES).read_text() == SHARED


def test_an_unseen_text_is_not_replaced(sqlite_noting: Desk) -> None:
    refused = sqlite_noting.call("write", path=NOTES, text="x")
    assert refused.is_error
    assert TEMPLATE in refused.text
    assert SHARED not in refused.text
    assert not sqlite_noting.call("write", path=NOTES, text="x").is_error


def test_two_runs_do_not_meet(desk: Desk) -> None:
    first, second = with_notes(desk, "run-1"), with_notes(desk, "run-2")
    for each, run_id in ((first, "run-1"), (second, "run-2")):
        each.call("read", run_id=run_id, path=NOTES)
        assert not each.call("write", run_id=run_id, path=NOTES, text=f"of {run_id}").is_error
    assert (own_notes(first), own_notes(second)) == ("of run-1", "of run-2")
    assert desk.versions(NOTES) == []


@pytest.mark.parametrize("failpoint", ["file.version.after", "file.rename.before"])
def test_a_crash_of_one_run_leaves_the_notes_of_the_other(desk: Desk, failpoint: str) -> None:
    """Both begin with the same text, so the hash before alone would not tell them apart."""
    first, second = with_notes(desk, "run-1"), with_notes(desk, "run-2")
    edit = {"path": NOTES, "edits": [{"old": "Notes", "new": "Mine"}]}
    prepared = first.run(lambda session: session.prepare("edit", call_id="c1", **edit))
    process = first.start_process(die_in_a_call, failpoint, "edit", "c1", edit)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not second.call("edit", run_id="run-2", path=NOTES, edits=[{"old": "#", "new": "##"}]).is_error
    assert desk.run(lambda session: session.reconcile()) == []
    assert own_notes(second) == "## Notes\n"
    assert own_notes(first) == TEMPLATE
    assert desk.file(NOTES).read_text() == SHARED
    output = first.run(lambda session: session.recover("edit", prepared, call_id="c1", **edit))
    assert not output.is_error
    assert own_notes(first) == "# Mine\n"
    assert own_notes(second) == "## Notes\n"


def test_restored_and_settled_where_it_is(sqlite_noting: Desk) -> None:
    async def work(session: Session) -> None:
        files = RunFiles(session.desk.tree, session.database, OWNER, session.desk.locks)
        await session.ok("edit", path=NOTES, edits=[{"old": "Notes", "new": "Mine"}])
        written = await files.restore(NOTES, 1)
        assert written.version is not None
        assert written.version.hash == hash_of(TEMPLATE.encode())
        left = session.desk.mounts[NOTES].with_name(temporary_name("session-notes.md"))
        left.write_text("half")
        await files.settle(NOTES)
        assert not left.exists()

    sqlite_noting.run(work)
    assert own_notes(sqlite_noting) == TEMPLATE


class TestLinks:
    """No link leads out of it, and nothing leads through it."""

    def test_a_link_in_its_place(self, sqlite_noting: Desk, tmp_path: Path) -> None:
        (tmp_path / "secret.md").write_text("secret")
        own = sqlite_noting.mounts[NOTES]
        own.unlink()
        own.symlink_to(tmp_path / "secret.md")
        for name, arguments in (("read", {}), ("write", {"text": "x"})):
            output = sqlite_noting.call(name, path=NOTES, **arguments)
            assert output.is_error
            assert "links are not followed" in output.text
        assert "secret" not in sqlite_noting.call("grep", pattern=".").text
        assert "session-notes.md  link, cannot be used" in sqlite_noting.call("ls", path="state").text
        assert (tmp_path / "secret.md").read_text() == "secret"

    def test_a_link_for_its_folder(self, sqlite_noting: Desk, tmp_path: Path) -> None:
        (tmp_path / "session-notes.md").write_text("secret")
        folder = sqlite_noting.mounts[NOTES].parent
        folder.rename(folder.with_name("aside"))
        folder.symlink_to(tmp_path)
        for name, arguments in (("read", {}), ("write", {"text": "x"}), ("ls", {})):
            output = sqlite_noting.call(name, path=NOTES, **arguments)
            assert output.is_error
            assert "secret" not in output.text
        assert sqlite_noting.call("ls", path="state").text == "pipeline.md  24 bytes"
        assert (tmp_path / "session-notes.md").read_text() == "secret"

    @pytest.mark.parametrize("path", [f"{NOTES}/x.md", f"{NOTES}/deep/x.md"])
    def test_nothing_is_below_it(self, sqlite_noting: Desk, path: str) -> None:
        sqlite_noting.file(NOTES).unlink()
        for name, arguments in (("read", {}), ("write", {"text": "x"}), ("ls", {})):
            output = sqlite_noting.call(name, path=path, **arguments)
            assert output.text == f"{NOTES} is a file, not a folder. Read it."
        assert not sqlite_noting.file(NOTES).exists()

    def test_a_folder_of_its_name_in_the_root(self, sqlite_noting: Desk) -> None:
        sqlite_noting.file(NOTES).unlink()
        sqlite_noting.file(NOTES).mkdir()
        (sqlite_noting.file(NOTES) / "inner.md").write_text("hidden below")
        assert sqlite_noting.call("read", path=NOTES).text == TEMPLATE
        assert sqlite_noting.call("find", pattern="inner.md").text == "[nothing matches]"

    @pytest.mark.parametrize(
        "path", ["state/../state/session-notes.md", "../sessions/run-1/session-notes.md"]
    )
    def test_no_way_back(self, sqlite_noting: Desk, path: str) -> None:
        assert ".." in sqlite_noting.call("read", path=path).text
        assert sqlite_noting.call("read", path=path).is_error

    def test_the_folders_of_other_sessions_do_not_exist(self, sqlite_noting: Desk) -> None:
        with_notes(sqlite_noting, "run-2")
        assert "sessions" not in sqlite_noting.call("find", pattern="*").text
        assert sqlite_noting.call("read", path=f"sessions/run-2/{NOTES}").is_error


class TestPlaces:
    """Where a mount can be, and what a tree makes of it."""

    def test_in_a_folder_that_is_only_there_for_it(self, tmp_path: Path) -> None:
        own = tmp_path / "own" / "notes.md"
        own.parent.mkdir()
        own.write_text("mine")
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "b.md").write_text("b")
        tree = Tree({"state": Root(tmp_path / "state", writable=True)}, mounts={"state/a/c/notes.md": own})
        assert [entry.path for entry in tree.entries("state")] == ["state/a", "state/b.md"]
        assert [entry.path for entry in tree.entries("state/a")] == ["state/a/c"]
        walked = tree.walk(".").entries
        assert [entry.path for entry in walked] == [
            "state",
            "state/a",
            "state/a/c",
            "state/a/c/notes.md",
            "state/b.md",
        ]
        assert [content.data for content in tree.contents(walked)] == [b"mine", b"b"]
        assert tree.to_write("state/a/c/notes.md") == "state/a/c/notes.md"
        assert tree.to_write("state/a/other.md") == "state/a/other.md"
        assert tree.real("state/a/c/notes.md") == own
        assert not tree.is_mounted("state/b.md")

    def test_accents_can_be_written_in_two_ways(self, tmp_path: Path) -> None:
        own = tmp_path / "own" / "r\u00e9sum\u00e9.md"
        own.parent.mkdir()
        own.write_text("mine")
        tree = Tree({"state": Root(tmp_path / "state")}, mounts={"state/re\u0301sume\u0301.md": own})
        for path in (
            "state/r\u00e9sum\u00e9.md",
            "state/re\u0301sume\u0301.md",
            "./state//r\u00e9sum\u00e9.md",
        ):
            assert tree.read(path).data == b"mine"

    def test_two_files_of_one_look_are_both_listed(self, tmp_path: Path) -> None:
        for name in ("\u00e9.md", "e\u0301.md"):
            (tmp_path / name).write_text(name)
        tree = Tree({"state": Root(tmp_path)}, mounts={"state/notes.md": tmp_path / "own" / "notes.md"})
        assert len(tree.entries("state")) == 2

    def test_what_a_run_writes_is_never_our_own_word(self, tmp_path: Path) -> None:
        own = tmp_path / "own" / "notes.md"
        roots = {
            "knowledge": Root(tmp_path / "knowledge", trusted=True),
            "docs": Root(tmp_path, trusted=True),
        }
        tree = Tree(roots, mounts={"knowledge/notes.md": own})
        assert not tree.is_trusted("knowledge/notes.md")
        assert not tree.is_trusted("knowledge")
        assert not tree.is_trusted(".")
        assert tree.is_trusted("knowledge/other.md")
        assert tree.is_trusted("docs")

    def test_in_a_read_only_root_it_is_read_only(self, tmp_path: Path) -> None:
        tree = Tree({"knowledge": Root(tmp_path)}, mounts={"knowledge/a.md": tmp_path / "b" / "a.md"})
        with pytest.raises(PathError, match="is read only"):
            tree.to_write("knowledge/a.md")

    @pytest.mark.parametrize("path", ["other/notes.md", "notes.md", "state"])
    def test_in_no_folder_of_the_tree(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(ValueError, match="it is in no folder of the tree"):
            Tree({"state": Root(tmp_path)}, mounts={path: tmp_path / "x" / path.rpartition("/")[2]})

    def test_under_another_name(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="its name must stay the same"):
            Tree({"state": Root(tmp_path)}, mounts={"state/notes.md": tmp_path / "other.md"})

    def test_hidden_and_mounted(self, tmp_path: Path) -> None:
        own = tmp_path / "own" / "notes.md"
        own.parent.mkdir()
        own.write_text("mine")
        tree = Tree(
            {"state": Root(tmp_path / "state")}, hidden={"state/notes.md"}, mounts={"state/notes.md": own}
        )
        assert tree.entries("state") == []
        assert tree.read("state/notes.md").data == b"mine"
