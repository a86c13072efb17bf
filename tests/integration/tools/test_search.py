"""ls, find and grep."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.agent.tools.find import FindTool
from colleague.agent.tools.glob import Glob
from colleague.agent.tools.grep import GrepTool
from colleague.agent.tools.ls import LsTool
from colleague.agent.tools.tree import Root, Tree
from tests.integration.tools.desk import PACKAGED, WRITABLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*PACKAGED, *WRITABLE):
        (tmp_path / name).mkdir()
    (tmp_path / "state/pipeline.md").write_text("# Pipeline\n\n- Ada\n- Bob\n- ada again\n")
    (tmp_path / "state/notes").mkdir()
    (tmp_path / "state/notes/ada.txt").write_text("Ada (likes a.b)\n")
    (tmp_path / "state/logo.png").write_bytes(b"\x89PNG Ada")
    (tmp_path / "knowledge/pricing.md").write_text("Ten euros.\n")
    return tmp_path


def ask(folder: Path, kind: type[LsTool | FindTool | GrepTool], **arguments: object) -> ToolOutput:
    roots = {name: Root(folder / name, writable=True) for name in WRITABLE}
    tree = Tree(roots | {name: Root(folder / name, trusted=True) for name in PACKAGED})
    return asyncio.run(kind(tree).call(ToolRequest("r", "c", "k", dict(arguments))))


class TestLs:
    def test_the_top(self, folder: Path) -> None:
        assert ask(folder, LsTool).text.splitlines() == [
            "functions/  read only",
            "knowledge/  read only",
            "learnings/",
            "persona/  read only",
            "processes/  read only",
            "scratch/",
            "state/",
        ]

    def test_a_folder(self, folder: Path) -> None:
        output = ask(folder, LsTool, path="state")
        assert output.text.splitlines() == ["logo.png  8 bytes", "notes/", "pipeline.md  36 bytes"]
        assert output.source == "file:state"

    def test_limit_and_nothing(self, folder: Path) -> None:
        assert ask(folder, LsTool, path="scratch").text == "[the folder is empty]"
        assert ask(folder, LsTool, path="state", limit=1).text.endswith(
            "\n[2 more; raise limit, or use find with a pattern]"
        )

    def test_errors(self, folder: Path) -> None:
        assert (
            ask(folder, LsTool, path="state/note").text
            == "There is no state/note. Did you mean state/notes/?"
        )
        assert ask(folder, LsTool, path="state/pipeline.md").text.startswith("state/pipeline.md is a file")


class TestFind:
    @pytest.mark.parametrize(
        ("pattern", "path", "found"),
        [
            ("*.md", ".", ["knowledge/pricing.md", "state/pipeline.md"]),
            ("*.md", "state", ["state/pipeline.md"]),
            ("state/**/*.txt", ".", ["state/notes/ada.txt"]),
            ("notes/*", "state", ["state/notes/ada.txt"]),
            ("**/notes", ".", ["state/notes/"]),
            ("*.{md,txt}", "state", ["state/notes/ada.txt", "state/pipeline.md"]),
            ("p[ri]*", ".", ["knowledge/pricing.md", "processes/", "state/pipeline.md"]),
            ("state/*", ".", ["state/logo.png", "state/notes/", "state/pipeline.md"]),
            ("*.zip", ".", ["[nothing matches]"]),
            ("../*", ".", ["[nothing matches]"]),
            ("pipeline.md", "state/pipeline.md", ["state/pipeline.md"]),
        ],
    )
    def test_patterns(self, folder: Path, pattern: str, path: str, found: list[str]) -> None:
        assert ask(folder, FindTool, pattern=pattern, path=path).text.splitlines() == found

    def test_limit(self, folder: Path) -> None:
        text = ask(folder, FindTool, pattern="**", path="state", limit=1).text
        assert text.endswith("\n[3 more; raise limit, or narrow the pattern]")

    def test_what_nobody_looks_for(self, folder: Path) -> None:
        (folder / "scratch/node_modules/x").mkdir(parents=True)
        assert ask(folder, FindTool, pattern="**", path="scratch").text == "scratch/node_modules/"
        assert (
            ask(folder, FindTool, pattern="x", path="scratch/node_modules").text == "scratch/node_modules/x/"
        )

    @pytest.mark.parametrize(
        ("pattern", "path", "fits"),
        [
            ("a/**/b", "a/b", True),
            ("a/**/b", "a/x/y/b", True),
            ("a/**/b", "a/x/y/c", False),
            ("**", "a/b", True),
            ("a/**", "a", True),
            ("a/*", "a/b/c", False),
            ("*", "a/b/c", True),
            ("[!a]*", "b", True),
            ("{a,{b,c}}.md", "c.md", True),
            ("{a", "{a", True),
        ],
    )
    def test_glob(self, pattern: str, path: str, fits: bool) -> None:
        assert Glob(pattern).matches(path) is fits

    def test_no_pattern_takes_for_ever(self) -> None:
        began = time.process_time()
        assert not Glob("**/" * 100 + "z").matches("a/" * 40 + "a")
        assert not Glob("*a" * 60 + "b").matches("a" * 250)
        assert not Glob("{a,b}" * 100).matches("a")
        assert time.process_time() - began < 20


class TestGrep:
    def test_matches_with_path_and_line(self, folder: Path) -> None:
        output = ask(folder, GrepTool, pattern="Ada")
        assert output.text.splitlines() == [
            "state/notes/ada.txt:1: Ada (likes a.b)",
            "state/pipeline.md:3: - Ada",
        ]
        assert output.source == "file:."
        assert ask(folder, GrepTool, pattern="euros", path="knowledge").source == ""

    def test_case_literal_glob_and_one_file(self, folder: Path) -> None:
        assert len(ask(folder, GrepTool, pattern="ada", ignore_case=True).text.splitlines()) == 3
        assert ask(folder, GrepTool, pattern="(likes a.b", literal=True).text.startswith(
            "state/notes/ada.txt:1:"
        )
        assert ask(folder, GrepTool, pattern="Ada", glob="*.md").text == "state/pipeline.md:3: - Ada"
        assert ask(folder, GrepTool, pattern="^$", path="state/pipeline.md").text == "state/pipeline.md:2: "

    def test_context(self, folder: Path) -> None:
        output = ask(folder, GrepTool, pattern="Pipeline|again", path="state/pipeline.md", context=1)
        assert output.text.splitlines() == [
            "state/pipeline.md:1: # Pipeline",
            "state/pipeline.md-2- ",
            "--",
            "state/pipeline.md-4- - Bob",
            "state/pipeline.md:5: - ada again",
        ]
        near = ask(folder, GrepTool, pattern="Ada|Bob", path="state/pipeline.md", context=1)
        assert [line[17:20] for line in near.text.splitlines()] == ["-2-", ":3:", ":4:", "-5-"]

    def test_limit(self, folder: Path) -> None:
        text = ask(folder, GrepTool, pattern="", limit=2).text
        assert len(text.splitlines()) == 3
        assert text.endswith("\n[more lines match; raise limit, or narrow the pattern]")
        assert "more" not in ask(folder, GrepTool, pattern="Ada", limit=2).text

    def test_long_lines_are_cut(self, folder: Path) -> None:
        (folder / "state/long.txt").write_text("needle" + "x" * 1000 + "\n")
        assert ask(folder, GrepTool, pattern="needle").text.endswith("x [506 more characters]")

    @pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?P<x", "*", "[", "(?<=a*)b"])
    def test_a_pattern_that_is_none(self, folder: Path, pattern: str) -> None:
        output = ask(folder, GrepTool, pattern=pattern)
        assert output.is_error
        assert output.text.startswith("The pattern is not a regular expression that can be used: ")
        assert output.text.endswith("Put a backslash before special characters, or set literal.")

    @pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){30}$"])
    def test_a_catastrophic_pattern_is_stopped(
        self, folder: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(GrepTool, "seconds", 0.4)
        (folder / "scratch/bomb.txt").write_text("a" * 5_000 + "!\n")
        (folder / "learnings/first.txt").write_text("found aaa\n")
        began = time.monotonic()
        text = ask(folder, GrepTool, pattern=pattern).text
        assert time.monotonic() - began < 60
        assert text.endswith(
            "[stopped after 0.4 seconds in scratch/bomb.txt; use a simpler pattern or a smaller folder]"
        )

    def test_others_go_on_meanwhile(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(GrepTool, "seconds", 0.4)
        (folder / "scratch/bomb.txt").write_text("a" * 5_000 + "!\n")
        tree = Tree({"scratch": Root(folder / "scratch")})

        async def both() -> int:
            search = asyncio.create_task(
                GrepTool(tree).call(ToolRequest("r", "c", "k", {"pattern": "(a+)+$"}))
            )
            ticks = 0
            while not search.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return ticks

        assert asyncio.run(both()) > 3

    def test_a_huge_pattern(self, folder: Path) -> None:
        output = ask(folder, GrepTool, pattern="(" * 5000 + ")" * 5000)
        assert output.is_error
        assert "it is too large" in output.text or "recursion" in output.text
