"""The one tree of an expert: which folders it has, and what can be done in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from colleague.agent.tools.path import MissingPath, PathError
from colleague.agent.tools.tree import Tree
from colleague.experts.workspace.expert_tree import expert_tree
from colleague.experts.workspace.workspace import Workspace, initialise_state, session_files
from colleague.packages.package import read_package
from tests.conftest import EXAMPLE

NOTES = "state/session-notes.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.of(tmp_path / "workspace", "sales")


def roots(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.entries(".")]


def package_with(folder: Path, components: str, files: Mapping[str, str]) -> Path:
    (folder / "expert.yaml").write_text(f'spec: "1.0"\nname: odd\nversion: 1.0.0\ncomponents:\n{components}')
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


class TestFolders:
    def test_of_the_example(self, workspace: Workspace) -> None:
        tree = expert_tree(EXAMPLE, workspace, private=())
        assert roots(tree) == [
            *("functions", "knowledge", "learnings", "persona", "processes", "scratch", "state", "tools"),
        ]
        assert tree.read("knowledge/meddpicc.md").data == (EXAMPLE / "knowledge/meddpicc.md").read_bytes()

    def test_state_and_scratch_are_written_in_the_workspace(self, workspace: Workspace) -> None:
        tree = expert_tree(EXAMPLE, workspace, private=())
        for path in ("state/pipeline.md", "scratch/deep/x.md"):
            staged = tree.stage(tree.to_write(path), b"mine")
            assert staged.put(None)
            staged.close()
            assert (workspace.root / path).read_bytes() == b"mine"
            assert not tree.is_trusted(path)
        assert not (EXAMPLE / "scratch").exists()

    @pytest.mark.parametrize(
        "folder", ["learnings", "functions", "processes", "knowledge", "persona", "tools"]
    )
    def test_everything_else_is_read_only(self, workspace: Workspace, folder: str) -> None:
        tree = expert_tree(EXAMPLE, workspace, private=())
        with pytest.raises(PathError, match=r"is read only. Files can be written in scratch/, state/."):
            tree.to_write(f"{folder}/_package.md")
        assert tree.is_trusted(folder) is (folder != "learnings")

    def test_learnings_are_those_of_the_workspace(self, workspace: Workspace) -> None:
        workspace.learnings.mkdir(parents=True)
        (workspace.learnings / "_package.md").write_text("learned")
        assert expert_tree(EXAMPLE, workspace, private=()).read("learnings/_package.md").data == b"learned"

    @pytest.mark.parametrize("path", ["expert.yaml", "bindings.yaml", "orchestrator.md", "README.md"])
    def test_no_file_of_the_top(self, package: Path, workspace: Workspace, path: str) -> None:
        (package / "bindings.yaml").write_text("tools: {}\n")
        with pytest.raises(MissingPath):
            expert_tree(package, workspace, private=()).read(path)


class TestOddPlaces:
    def test_components_anywhere_in_the_package(self, tmp_path: Path, workspace: Workspace) -> None:
        components = (
            "  functions: [do/this.md, ./do/../other/that.md]\n"
            "  knowledge: [docs/kb/prices.md, top.md, ../outside/x.md, bindings.yaml]\n"
        )
        files = {"docs/kb/prices.md": "Ten.", "other/that.md": "That.", "top.md": "Top", "unlisted/x.md": "x"}
        tree = expert_tree(package_with(tmp_path, components, files), workspace, private=())
        assert [
            name for name in roots(tree) if name in ("do", "docs", "other", "unlisted", "..", "top.md")
        ] == [
            "do",
            "docs",
            "other",
        ]
        assert tree.read("docs/kb/prices.md").data == b"Ten."
        assert tree.is_trusted("docs/kb")
        assert not {"", ".", "..", "bindings.yaml"} & set(roots(tree))
        with pytest.raises(PathError, match="read only"):
            tree.to_write("docs/kb/prices.md")

    def test_a_state_file_anywhere_is_the_workspaces(self, tmp_path: Path, workspace: Workspace) -> None:
        components = "  state: [memory/log.md, docs/both.md, top.md]\n  knowledge: [docs/a.md]\n"
        package = package_with(tmp_path, components, {"memory/log.md": "template", "docs/a.md": "a"})
        tree = expert_tree(package, workspace, private=())
        assert tree.to_write("memory/log.md") == "memory/log.md"
        assert tree.read_if_there("memory/log.md") is None
        assert tree.real("memory/log.md") == workspace.root / "memory" / "log.md"
        assert tree.read("docs/a.md").data == b"a"

    @pytest.mark.parametrize("name", ["state", "scratch", "learnings"])
    def test_the_workspace_comes_first(self, tmp_path: Path, workspace: Workspace, name: str) -> None:
        package = package_with(tmp_path, f"  knowledge: [{name}/x.md]\n", {f"{name}/x.md": "package"})
        assert expert_tree(package, workspace, private=()).read_if_there(f"{name}/x.md") is None

    @pytest.mark.parametrize("text", [None, "", "[]", "name: [", "components: 5\n"])
    def test_a_manifest_that_cannot_be_read(
        self, tmp_path: Path, workspace: Workspace, text: str | None
    ) -> None:
        if text is not None:
            (tmp_path / "expert.yaml").write_text(text)
        tree = expert_tree(tmp_path, workspace, private=())
        assert roots(tree) == [
            "functions",
            "knowledge",
            "learnings",
            "persona",
            "processes",
            "scratch",
            "state",
        ]

    def test_a_link_to_another_folder_is_not_followed(self, tmp_path: Path, workspace: Workspace) -> None:
        """A private file would not be hidden under its second name."""
        package = package_with(tmp_path, "  knowledge: [kb/a.md]\n", {"docs/a.md": "a"})
        (package / "kb").symlink_to("docs")
        tree = expert_tree(package, workspace, private=["docs/a.md"])
        with pytest.raises(PathError, match="kb cannot be opened: it is a link"):
            tree.read("kb/a.md")


def test_private_knowledge_is_hidden(workspace: Workspace) -> None:
    tree = expert_tree(EXAMPLE, workspace, private=["./knowledge/meddpicc.md", "../x", ""])
    assert tree.is_hidden("knowledge/meddpicc.md")
    assert [entry.path for entry in tree.entries("knowledge")] == ["knowledge/competitive-battle-cards.md"]
    assert tree.read("knowledge/meddpicc.md").data


def test_session_files_are_mounted(workspace: Workspace) -> None:
    package = read_package(EXAMPLE).package
    assert package
    initialise_state(package, workspace)
    files = session_files(package, workspace.sessions / "run-1")
    files[NOTES].write_text("of this session")
    tree = expert_tree(EXAMPLE, workspace, private=(), session_files=files)
    assert tree.read(NOTES).data == b"of this session"
    assert tree.to_write(NOTES) == NOTES
    assert "sessions" not in roots(tree)
    assert expert_tree(EXAMPLE, workspace, private=()).read(NOTES).data == (EXAMPLE / NOTES).read_bytes()


def test_a_session_file_that_no_folder_can_hold(workspace: Workspace, tmp_path: Path) -> None:
    tree = expert_tree(EXAMPLE, workspace, private=(), session_files={"notes.md": tmp_path / "notes.md"})
    with pytest.raises(MissingPath):
        tree.read("notes.md")
