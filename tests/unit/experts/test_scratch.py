"""Scratch files: safe names for any input, and nothing removed but what is meant."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colleague.agent.tools.path import split
from colleague.agent.tools.staged import temporary_name
from colleague.experts.workspace.file_name import file_name_part
from colleague.experts.workspace.scratch import forget_scratch, remove_scratch, scratchpad_path
from colleague.experts.workspace.workspace import Workspace
from colleague.packages.package import read_package
from colleague.packages.process import Process
from tests.conftest import EXAMPLE

DAY = 86_400_000
NOW = 1_800_000_000_000


@pytest.fixture(scope="module")
def process() -> Process:
    package = read_package(EXAMPLE).package
    assert package
    found = package.process("inbound-email-triage")
    assert found
    return found


def path_of(process: Process, pattern: str, **inputs: Any) -> str | None:
    return scratchpad_path(replace(process, scratchpad=pattern), inputs)


class TestPath:
    def test_of_the_example(self, process: Process) -> None:
        assert scratchpad_path(process, {"message_id": "18f3a2"}) == "scratch/triage-18f3a2.md"

    @pytest.mark.parametrize(
        ("value", "path"),
        [
            ("deal-42", "scratch/deal-42.md"),
            ("ada@example.com", "scratch/ada@example.com.md"),
            (42, "scratch/42.md"),
            (0, "scratch/0.md"),
            (True, "scratch/true.md"),
            (1.5, "scratch/1.5.md"),
        ],
    )
    def test_plain_values_are_legible(self, process: Process, value: Any, path: str) -> None:
        assert path_of(process, "./scratch/{x}.md", x=value) == path

    @pytest.mark.parametrize(
        "value",
        [
            "../../x",
            "a/b",
            "..",
            ".",
            "/etc/passwd",
            "~root",
            "a\\b",
            "a\0b",
            "x" * 300,
            "é" * 200,
            "\ud800",
            "{x}",
            "<CAF=+x@mail.example.com>",
            " ",
            "\n",
            "-rf",
            ".hidden",
            "CON:",
            "a\u202eb",
            ["a", 1],
            {"b": None},
        ],
    )
    def test_any_value_is_one_name(self, process: Process, value: Any) -> None:
        path = path_of(process, "./scratch/triage-{x}.md", x=value)
        assert path is not None
        assert split(path) == tuple(path.split("/"))
        assert path.startswith("scratch/triage-")
        assert path.count("/") == 1
        assert path.endswith(".md")
        assert path.isascii()
        assert len(path) < 150
        assert path == path_of(process, "./scratch/triage-{x}.md", x=value)

    @pytest.mark.parametrize(
        "pattern", ["scratch/{x}-{y}.md", "scratch/{x}{y}.md", "scratch/{x}/{y}", "scratch/{y}--{x}"]
    )
    @given(
        first=st.tuples(st.text("ab-/", min_size=1, max_size=4), st.text("ab-/", min_size=1, max_size=4)),
        second=st.tuples(st.text("ab-/", min_size=1, max_size=4), st.text("ab-/", min_size=1, max_size=4)),
    )
    @example(first=("a-a", "b"), second=("a", "a-b"))
    @example(first=("a", "ab"), second=("aa", "b"))
    def test_other_inputs_have_another_file(
        self, process: Process, pattern: str, first: tuple[str, str], second: tuple[str, str]
    ) -> None:
        paths = [path_of(process, pattern, x=x, y=y) for x, y in (first, second)]
        assert (paths[0] == paths[1]) is (first == second)

    @given(st.lists(st.text(), unique=True, min_size=2, max_size=20))
    def test_other_text_is_another_name(self, texts: list[str]) -> None:
        parts = [file_name_part(text) for text in texts]
        assert len(set(parts)) == len(texts)
        assert all(split(f"x/{part}") == ("x", part) for part in parts)
        assert len({file_name_part(part) for part in parts}) == len(parts)

    def test_nobody_can_write_out_the_name_of_another(self, process: Process) -> None:
        made = path_of(process, "scratch/{x}.md", x="a/b")
        assert made is not None
        copied = made.removeprefix("scratch/").removesuffix(".md")
        assert path_of(process, "scratch/{x}.md", x=copied) != made

    def test_long_names_stay_apart(self, process: Process) -> None:
        pattern = "scratch/{a}{b}{c}/{a}-{b}-{c}.md"
        paths = [path_of(process, pattern, a="a" * 80, b="b" * 80, c=end * 80) for end in "cd"]
        assert paths[0] != paths[1]
        for path in paths:
            assert path
            assert all(len(name) <= 255 for name in split(path))

    @pytest.mark.parametrize("inputs", [{}, {"message_id": None}, {"message_id": ""}, {"other": "x"}])
    def test_a_missing_input(self, process: Process, inputs: dict[str, Any]) -> None:
        assert scratchpad_path(process, inputs) is None

    @pytest.mark.parametrize(
        "pattern",
        ["", "state/{x}.md", "../scratch/{x}.md", "scratch/../{x}.md", "/scratch/{x}", "{x}/a.md", "scratch"],
    )
    def test_a_pattern_that_is_none(self, process: Process, pattern: str) -> None:
        assert path_of(process, pattern, x="scratch") is None

    def test_without_placeholders(self, process: Process) -> None:
        assert path_of(process, "scratch/notes.md") == "scratch/notes.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    space = Workspace.of(tmp_path / "workspace", "sales")
    for path in (
        "scratch/a.md",
        "scratch/deep/er/b.md",
        "scratch/deep/c.md",
        "state/pipeline.md",
        "learnings/x.md",
    ):
        put(space, path)
    return space


def put(workspace: Workspace, path: str, *, age: int = 0) -> Path:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(path)
    os.utime(file, ns=(0, (NOW - age) * 1_000_000))
    return file


def files(workspace: Workspace) -> list[str]:
    return sorted(
        str(each.relative_to(workspace.root)) for each in workspace.root.rglob("*") if not each.is_dir()
    )


class TestRemoving:
    def test_files_and_the_folders_they_leave_empty(self, workspace: Workspace) -> None:
        assert remove_scratch(workspace, ["scratch/deep/er/b.md"]) == ["scratch/deep/er/b.md"]
        assert not (workspace.scratch / "deep" / "er").exists()
        assert (workspace.scratch / "deep" / "c.md").exists()
        assert remove_scratch(workspace, ["./scratch/deep/c.md", "scratch/a.md"]) == [
            "./scratch/deep/c.md",
            "scratch/a.md",
        ]
        assert list(workspace.scratch.iterdir()) == []

    @pytest.mark.parametrize(
        "path",
        [
            "state/pipeline.md",
            "scratch/../state/pipeline.md",
            "../sales/state/pipeline.md",
            "scratch",
            "scratch/",
            "scratch/deep",
            "scratch/none.md",
            "scratch/none/a.md",
            "scratch/a.md/b.md",
            "a.md",
            "",
            ".",
            "learnings/x.md",
            "scratch/link.md",
            "scratch/out/secret.md",
            "scratch/back/pipeline.md",
            "scratch\\a.md",
            "scratch/a\0.md",
            "/etc/hostname",
            "~/x",
        ],
    )
    def test_nothing_else(self, workspace: Workspace, tmp_path: Path, path: str) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.md").write_text("secret")
        (workspace.scratch / "link.md").symlink_to(outside / "secret.md")
        (workspace.scratch / "out").symlink_to(outside)
        (workspace.scratch / "back").symlink_to("../state")
        before = files(workspace)
        assert remove_scratch(workspace, [path, str(outside / "secret.md")]) == []
        assert files(workspace) == before
        assert (outside / "secret.md").exists()

    def test_a_scratch_folder_that_is_a_link(self, workspace: Workspace, tmp_path: Path) -> None:
        workspace.scratch.rename(tmp_path / "elsewhere")
        workspace.scratch.symlink_to(tmp_path / "elsewhere")
        assert remove_scratch(workspace, ["scratch/a.md"]) == []
        assert forget_scratch(workspace, 0, NOW * 2, lambda _: False) == []
        assert (tmp_path / "elsewhere" / "a.md").exists()

    def test_without_any_workspace(self, tmp_path: Path) -> None:
        space = Workspace.of(tmp_path, "nobody")
        assert remove_scratch(space, ["scratch/a.md"]) == []
        assert forget_scratch(space, 0, NOW, lambda _: False) == []
        assert list(tmp_path.iterdir()) == []


class TestForgetting:
    def test_what_is_old_and_not_kept(self, workspace: Workspace) -> None:
        put(workspace, "scratch/old.md", age=8 * DAY)
        put(workspace, "scratch/kept.md", age=8 * DAY)
        put(workspace, "scratch/gone/old.md", age=8 * DAY)
        put(workspace, "scratch/just.md", age=7 * DAY)
        put(workspace, "state/old.md", age=99 * DAY)
        left = f"scratch/{temporary_name('x.md')}"
        put(workspace, left, age=8 * DAY)
        asked: list[str] = []

        def keep(path: str) -> bool:
            asked.append(path)
            return path == "scratch/kept.md"

        removed = forget_scratch(workspace, 7 * DAY, NOW, keep)
        assert sorted(removed) == sorted(["scratch/old.md", "scratch/gone/old.md", left])
        assert sorted(asked) == sorted([*removed, "scratch/kept.md"])
        assert not (workspace.scratch / "gone").exists()
        assert files(workspace) == [
            "learnings/x.md",
            "scratch/a.md",
            "scratch/deep/c.md",
            "scratch/deep/er/b.md",
            "scratch/just.md",
            "scratch/kept.md",
            "state/old.md",
            "state/pipeline.md",
        ]
        assert forget_scratch(workspace, 7 * DAY, NOW, keep) == []

    def test_sessions_by_what_was_written_last(self, workspace: Workspace) -> None:
        for run, age in (("old", 8), ("mixed", 8), ("new", 1), ("kept", 9)):
            put(workspace, f"sessions/{run}/state/notes.md", age=age * DAY)
        put(workspace, "sessions/mixed/state/other.md", age=DAY)
        put(workspace, "sessions/a-file", age=99 * DAY)
        for folder in sorted(workspace.sessions.rglob("*"), reverse=True):
            if folder.is_dir():
                os.utime(folder, ns=(0, (NOW - 99 * DAY) * 1_000_000))
        removed = forget_scratch(workspace, 7 * DAY, NOW, lambda path: path == "sessions/kept")
        assert removed == ["sessions/old"]
        assert sorted(each.name for each in workspace.sessions.iterdir()) == [
            "a-file",
            "kept",
            "mixed",
            "new",
        ]

    def test_links_stay_and_lead_nowhere(self, workspace: Workspace, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        os.utime(put(Workspace(outside), "secret.md"), ns=(0, 0))
        (workspace.scratch / "out").symlink_to(outside)
        (workspace.scratch / "link.md").symlink_to(outside / "secret.md")
        workspace.sessions.mkdir()
        (workspace.sessions / "run").symlink_to(outside)
        forget_scratch(workspace, 0, NOW * 2, lambda _: False)
        assert (outside / "secret.md").exists()
        assert (workspace.scratch / "link.md").is_symlink()
        assert (workspace.sessions / "run").is_symlink()

    def test_pipes_are_left_alone(self, workspace: Workspace) -> None:
        os.mkfifo(workspace.scratch / "pipe")
        assert "scratch/pipe" not in forget_scratch(workspace, 0, NOW * 2, lambda _: False)
        assert (workspace.scratch / "pipe").exists()
