"""State files: templates once, session files anew, and a copy for each isolated session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colleague.experts.workspace.workspace import (
    Workspace,
    initialise_state,
    remove_session,
    session_files,
)
from colleague.packages.package import Package, read_package
from tests.conftest import EXAMPLE, tree

PIPELINE, NOTES = "state/pipeline.md", "state/session-notes.md"


@pytest.fixture
def package() -> Package:
    found = read_package(EXAMPLE).package
    assert found
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.of(tmp_path / "workspace", "sales")


def test_its_folders(workspace: Workspace) -> None:
    folders = (workspace.state, workspace.scratch, workspace.learnings, workspace.sessions)
    assert [str(each.relative_to(workspace.root)) for each in folders] == [
        "state",
        "scratch",
        "learnings",
        "sessions",
    ]


def test_what_is_there_stays(package: Package, workspace: Workspace) -> None:
    assert initialise_state(package, workspace) == [PIPELINE, NOTES]
    for path in (PIPELINE, NOTES):
        (workspace.root / path).write_text("mine")
    assert initialise_state(package, workspace) == []
    assert (workspace.root / PIPELINE).read_text() == "mine"


class TestSessionFiles:
    def test_each_session_has_its_own(self, package: Package, workspace: Workspace) -> None:
        initialise_state(package, workspace)
        first = session_files(package, workspace.sessions / "run-1")
        second = session_files(package, workspace.sessions / "run-2")
        assert list(first) == list(second) == [NOTES]
        assert first[NOTES].read_text() == (EXAMPLE / NOTES).read_text()
        first[NOTES].write_text("mine")
        assert second[NOTES].read_text() != "mine"
        assert (workspace.root / NOTES).read_text() != "mine"

    def test_a_session_that_goes_on_finds_them_again(self, package: Package, workspace: Workspace) -> None:
        files = session_files(package, workspace.sessions / "run-1")
        files[NOTES].write_text("mine")
        assert session_files(package, workspace.sessions / "run-1") == files
        assert files[NOTES].read_text() == "mine"

    def test_removed_with_the_session(self, package: Package, workspace: Workspace) -> None:
        for run in ("run-1", "run-2"):
            session_files(package, workspace.sessions / run)
        remove_session(workspace, "run-1")
        remove_session(workspace, "run-1")
        assert [each.name for each in workspace.sessions.iterdir()] == ["run-2"]

    @pytest.mark.parametrize("run_id", ["", ".", "..", "../state", "run-2/..", "/", "link"])
    def test_nothing_else_is_removed(self, package: Package, workspace: Workspace, run_id: str) -> None:
        initialise_state(package, workspace)
        session_files(package, workspace.sessions / "run-2")
        (workspace.sessions / "link").symlink_to(workspace.state)
        before = tree(workspace.root)
        remove_session(workspace, run_id)
        assert tree(workspace.root) == before


class TestCopies:
    """A dry run works on a copy."""

    def test_copied_once_and_removed(self, package: Package, workspace: Workspace, tmp_path: Path) -> None:
        initialise_state(package, workspace)
        (workspace.learnings / "archive").mkdir(parents=True)
        (workspace.learnings / "archive" / "_package.md").write_text("old")
        session_files(package, workspace.sessions / "run-1")
        copy = Workspace(tmp_path / "dry-runs" / "run-2")
        copy.copy_from(workspace)
        assert tree(copy.state) == tree(workspace.state)
        assert tree(copy.learnings) == tree(workspace.learnings)
        assert not copy.sessions.exists()
        (copy.root / PIPELINE).write_text("tried out")
        copy.copy_from(workspace)
        assert (copy.root / PIPELINE).read_text() == "tried out"
        assert (workspace.root / PIPELINE).read_text() != "tried out"
        copy.remove()
        copy.remove()
        assert list((tmp_path / "dry-runs").iterdir()) == []
        assert (workspace.root / PIPELINE).exists()

    def test_half_a_copy_is_none(self, package: Package, workspace: Workspace, tmp_path: Path) -> None:
        """A crash leaves the copy under its other name."""
        initialise_state(package, workspace)
        left = tmp_path / "dry-runs" / ".run-2.new" / "state"
        left.mkdir(parents=True)
        (left / "half.md").write_text("half")
        copy = Workspace(tmp_path / "dry-runs" / "run-2")
        copy.copy_from(workspace)
        assert tree(copy.state) == tree(workspace.state)
        assert [each.name for each in (tmp_path / "dry-runs").iterdir()] == ["run-2"]

    def test_links_and_pipes_are_left_out(self, workspace: Workspace, tmp_path: Path) -> None:
        workspace.state.mkdir(parents=True)
        (tmp_path / "secret.md").write_text("secret")
        (workspace.state / "link.md").symlink_to(tmp_path / "secret.md")
        (workspace.state / "out").symlink_to(tmp_path)
        os.mkfifo(workspace.state / "pipe")
        (workspace.state / "a.md").write_text("a")
        copy = Workspace(tmp_path / "copy")
        copy.copy_from(workspace)
        assert [each.name for each in copy.state.iterdir()] == ["a.md"]

    def test_of_nothing(self, workspace: Workspace, tmp_path: Path) -> None:
        copy = Workspace(tmp_path / "copy")
        copy.copy_from(workspace)
        assert tree(copy.root) == {}
        assert not workspace.root.exists()
