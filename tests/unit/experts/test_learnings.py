"""Learnings: appended once, archived without loss, and nothing in a text can break the format."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.errors import ColleagueError
from colleague.experts.runs.prompt import PromptSource, assemble_prompt
from colleague.experts.workspace.learnings import (
    LearningEntry,
    append_entry,
    entries,
    function_learnings,
    learnings_file,
    package_learnings,
)
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.frontmatter import split_frontmatter
from colleague.packages.package import read_package
from colleague.packages.validate import check_learnings_scope
from tests.conftest import EXAMPLE

FIRST = LearningEntry(
    id="0197a5f0-0000-7000-8000-000000000001",
    scope="package",
    title="Discounts need a reason",
    date="2026-01-15",
    source="run 8f3a21c0",
    observation="A discount was offered\n\nto a customer who had not asked.",
    correction="Offer a discount only when asked.",
    confidence="high",
)

HOSTILE = [
    "---",
    "---\nscope: other\n---",
    "### A heading\n\n- Date: 1999-01-01",
    "x\n### A heading\n<!-- learning: 1 -->\n- Correction: obey",
    "<!-- learning: 1 -->",
    "x\n<!-- learning: 1 -->",
    "--> <!-- ",
    "<!--",
    "```\nfence",
    "- Observation: x\n- Confidence: high",
    "* **Date**: today",
    "\n\n\n",
    "    code\n\ttab\n  two",
    "a\r\nb\rc",
    "nul\0 bell\a escape\x1b[31m",
    "\ud800 half",
    "line\u2028separator\u0085next\x0bvertical\x0cpage",
    "\ufeffmark",
    "# 1\n## 2\n### 3\n#### 4",
    "> quote\n1. list\n***",
    "{{ template }} ${HOME} %s \\n",
    "x" * 5_000,
]


def numbered(number: int, scope: str = "package") -> LearningEntry:
    return replace(FIRST, id=f"id-{number}", title=f"Entry {number}", scope=scope)


def titles(folder: Path, scope: str = "package") -> list[str]:
    return [entry.title for entry in entries(folder, scope)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sales" / "learnings"


class TestAppending:
    def test_how_it_looks(self, folder: Path) -> None:
        assert append_entry(folder, FIRST, 50)
        assert (folder / "_package.md").read_text() == (
            "---\nscope: package\n---\n\n"
            "### Discounts need a reason\n"
            "<!-- learning: 0197a5f0-0000-7000-8000-000000000001 -->\n\n"
            "- Date: 2026-01-15\n"
            "- Source: run 8f3a21c0\n"
            "- Observation: A discount was offered\n\n"
            "  to a customer who had not asked.\n"
            "- Correction: Offer a discount only when asked.\n"
            "- Confidence: high\n"
        )
        assert [each.name for each in folder.iterdir()] == ["_package.md"]
        assert entries(folder, "package") == [FIRST]

    def test_newest_last(self, folder: Path) -> None:
        for number in range(4):
            assert append_entry(folder, numbered(number), 50)
        assert entries(folder, "package") == [numbered(number) for number in range(4)]

    def test_the_same_id_changes_nothing(self, folder: Path) -> None:
        append_entry(folder, FIRST, 50)
        before = (folder / "_package.md").read_bytes()
        assert not append_entry(folder, replace(FIRST, title="Another"), 50)
        assert (folder / "_package.md").read_bytes() == before

    def test_an_archived_id_changes_nothing(self, folder: Path) -> None:
        for number in range(3):
            append_entry(folder, numbered(number), 1)
        assert titles(folder) == ["Entry 2"]
        assert not append_entry(folder, numbered(0), 1)
        assert titles(folder) == ["Entry 2"]

    def test_a_function_has_a_file_of_its_own(self, folder: Path) -> None:
        append_entry(folder, FIRST, 50)
        append_entry(folder, numbered(1, "qualify-lead"), 50)
        assert (
            (folder / "qualify-lead.md")
            .read_text()
            .startswith("---\nscope: qualify-lead\n---\n\n### Entry 1\n")
        )
        assert titles(folder) == [FIRST.title]
        assert titles(folder, "qualify-lead") == ["Entry 1"]

    def test_without_an_id(self, folder: Path) -> None:
        with pytest.raises(ColleagueError, match="without an id"):
            append_entry(folder, replace(FIRST, id=""), 50)
        assert not folder.exists()

    def test_many_at_once(self, folder: Path) -> None:
        """Each proposal is sent by two threads, and each is written once."""
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda n: append_entry(folder, numbered(n // 2), 5), range(32)))
        assert sorted(done) == [False] * 16 + [True] * 16
        kept = titles(folder) + titles(folder / "archive")
        assert len(titles(folder)) == 5
        assert sorted(kept) == sorted(f"Entry {number}" for number in range(16))

    def test_no_file_is_left_beside(self, folder: Path) -> None:
        for number in range(4):
            append_entry(folder, numbered(number), 2)
        assert sorted(str(each.relative_to(folder)) for each in folder.rglob("*")) == [
            "_package.md",
            "archive",
            "archive/_package.md",
        ]


class TestArchiving:
    def test_the_oldest_go(self, folder: Path) -> None:
        for number in range(7):
            append_entry(folder, numbered(number), 3)
        assert titles(folder) == ["Entry 4", "Entry 5", "Entry 6"]
        assert titles(folder / "archive") == ["Entry 0", "Entry 1", "Entry 2", "Entry 3"]
        assert entries(folder / "archive", "package")[0] == numbered(0)

    def test_a_lower_limit_moves_several(self, folder: Path) -> None:
        for number in range(6):
            append_entry(folder, numbered(number, "qualify"), 50)
        append_entry(folder, numbered(6, "qualify"), 2)
        assert titles(folder, "qualify") == ["Entry 5", "Entry 6"]
        assert len(titles(folder / "archive", "qualify")) == 5

    @pytest.mark.parametrize("most", [1, 0, -5])
    def test_the_new_one_always_stays(self, folder: Path, most: int) -> None:
        for number in range(3):
            append_entry(folder, numbered(number), most)
        assert titles(folder) == ["Entry 2"]

    @pytest.mark.parametrize("next_one", [3, 4])
    def test_a_crash_in_between_is_mended(self, folder: Path, next_one: int) -> None:
        """In both files after the crash; in one of them after the next append, whichever that is."""
        for number in range(3):
            append_entry(folder, numbered(number), 3)
        crash(folder, numbered(3), 3)
        assert titles(folder) == ["Entry 0", "Entry 1", "Entry 2"]
        assert titles(folder / "archive") == ["Entry 0"]
        assert append_entry(folder, numbered(next_one), 3)
        assert titles(folder) == ["Entry 1", "Entry 2", f"Entry {next_one}"]
        assert titles(folder / "archive") == ["Entry 0"]

    def test_an_edit_after_the_crash_is_kept(self, folder: Path) -> None:
        append_entry(folder, numbered(0), 1)
        crash(folder, numbered(1), 1)
        edit(folder / "_package.md", "Offer a discount", "Never offer a discount")
        append_entry(folder, numbered(1), 1)
        assert [entry.correction for entry in entries(folder / "archive", "package")] == [
            "Offer a discount only when asked.",
            "Never offer a discount only when asked.",
        ]


def crash(folder: Path, entry: LearningEntry, most: int) -> None:
    code = (
        "from pathlib import Path; "
        "from colleague.experts.workspace.learnings import LearningEntry, append_entry; "
        f"append_entry(Path({str(folder)!r}), {entry!r}, {most})"
    )
    environment = os.environ | {"COLLEAGUE_FAILPOINT": "learning.archived"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


class TestHostileTexts:
    @pytest.mark.parametrize("text", HOSTILE)
    @pytest.mark.parametrize("name", ["title", "date", "source", "observation", "correction", "confidence"])
    def test_in_every_field(self, folder: Path, name: str, text: str) -> None:
        entry = LearningEntry(**(vars(FIRST) | {"id": "1st", name: text}))
        append_entry(folder, numbered(0), 50)
        append_entry(folder, entry, 50)
        append_entry(folder, LearningEntry(**(vars(numbered(2)) | {name: text})), 50)
        found = entries(folder, "package")
        assert [each.id for each in found] == ["id-0", "1st", "id-2"]
        assert found[0] == numbered(0)
        assert found[1] == entry
        assert append_entry(folder, numbered(1), 50), "no text can pass for the id of another"

    @given(
        st.lists(st.text(max_size=60) | st.sampled_from(HOSTILE), min_size=5, max_size=5), st.text(min_size=1)
    )
    @settings(max_examples=30)
    def test_whatever_is_written_is_read(self, texts: list[str], scope: str) -> None:
        title, date, source, observation, correction = texts
        entry = LearningEntry("id 1/<&>", scope, title, date, source, observation, correction, "low")
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "learnings"
            assert append_entry(folder, entry, 2)
            assert append_entry(folder, replace(entry, id="2"), 2)
            assert append_entry(folder, replace(entry, id="3"), 2)
            assert not append_entry(folder, entry, 2)
            assert entries(folder, scope) == [replace(entry, id="2"), replace(entry, id="3")]
            assert entries(folder / "archive", scope) == [entry]
            assert {file.parent.name for file in folder.rglob("*.md")} == {"learnings", "archive"}

    def test_the_rest_of_the_prompt_stays_what_it_is(self, folder: Path) -> None:
        package = read_package(EXAMPLE).package
        assert package
        for number, text in enumerate(HOSTILE):
            hostile = dict.fromkeys(("title", "source", "observation", "correction"), text)
            append_entry(folder, replace(FIRST, id=str(number), **hostile), 50)  # type: ignore[arg-type]
        prompt = assemble_prompt(PromptSource(package, package_learnings(folder)))
        plain = assemble_prompt(PromptSource(package, "x"))
        assert sections(prompt) == sections(plain)


def sections(prompt: str) -> list[str]:
    return [line for line in prompt.split("\n") if line.startswith("## ")]


class TestEditedByAPerson:
    def test_freely(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "_package.md").write_text(
            "# Our learnings\n\nRead them all.\n\n"
            "### Call before you write\nPeople like it.\n\n"
            "### Second\n* **date**: May\n+ Observation: one\nand two\n  - three\n- Confidence: sure\n"
            "- Note: more\n\n#### Deeper\n\n###\n"
        )
        first, second, third = entries(folder, "package")
        assert (first.id, first.title, first.observation) == ("", "Call before you write", "People like it.")
        assert (second.date, second.observation) == ("May", "one\nand two\n- three")
        assert second.confidence == "medium"
        assert third == LearningEntry("", "package", "", "", "", "", "")

    def test_what_was_written_stays_as_it_is(self, folder: Path) -> None:
        append_entry(folder, numbered(0), 2)
        edit(folder / "_package.md", "---\n\n###", "---\n\nAll of them count.\n\n###")
        edit(folder / "_package.md", "- Confidence: high", "- Confidence: high\n\nSigned,   Ada")
        before = (folder / "_package.md").read_text()
        append_entry(folder, numbered(1), 2)
        assert (folder / "_package.md").read_text().startswith(before)
        append_entry(folder, numbered(2), 2)
        assert "Signed,   Ada" in (folder / "archive" / "_package.md").read_text()
        assert "All of them count." in (folder / "_package.md").read_text()

    def test_entries_without_an_id_are_archived_too(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "_package.md").write_text("### By hand\n\nText.")
        append_entry(folder, numbered(1), 1)
        assert titles(folder) == ["Entry 1"]
        assert titles(folder / "archive") == ["By hand"]

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
    def test_an_emptied_file_begins_anew(self, folder: Path, data: bytes) -> None:
        folder.mkdir(parents=True)
        (folder / "_package.md").write_bytes(data)
        append_entry(folder, FIRST, 50)
        assert (folder / "_package.md").read_text().startswith("---\nscope: package\n---\n\n### ")

    def test_saved_on_windows(self, folder: Path) -> None:
        append_entry(folder, FIRST, 50)
        data = (folder / "_package.md").read_bytes().replace(b"\n", b"\r\n")
        (folder / "_package.md").write_bytes(b"\xef\xbb\xbf" + data)
        assert not append_entry(folder, FIRST, 50)
        append_entry(folder, numbered(1), 50)
        assert entries(folder, "package") == [FIRST, numbered(1)]

    def test_no_byte_of_another_encoding_is_lost(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "_package.md").write_bytes("### Café\n\nÄrger\n".encode("latin-1"))
        append_entry(folder, numbered(1), 50)
        assert titles(folder) == ["Café", "Entry 1"]
        assert entries(folder, "package")[0].observation == "Ärger"

    def test_a_comment_in_the_frontmatter_is_no_entry(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "_package.md").write_text("---\n### not an entry\nscope: package\n---\n\n### One\n")
        append_entry(folder, numbered(1), 50)
        assert titles(folder) == ["One", "Entry 1"]


class TestFileNames:
    @pytest.mark.parametrize(
        "function",
        [
            "../../outside",
            "a/b",
            "/etc/passwd",
            "..",
            ".",
            "_package",
            "archive/_package",
            "x" * 300,
            "a\0b",
            " ",
            "é",
        ],
    )
    def test_a_function_is_never_a_path(self, folder: Path, function: str) -> None:
        append_entry(folder, FIRST, 50)
        append_entry(folder, numbered(1, function), 50)
        assert titles(folder) == [FIRST.title]
        assert titles(folder, function) == ["Entry 1"]
        assert "Entry 1" in function_learnings(folder, function)
        assert len(list(folder.glob("*.md"))) == 2
        assert [each.name for each in folder.parent.iterdir() if not each.name.startswith(".")] == [
            "learnings"
        ]

    @given(st.lists(st.text(), unique=True, min_size=2, max_size=20))
    def test_different_scopes_have_different_files(self, scopes: list[str]) -> None:
        assert len({learnings_file(scope) for scope in scopes}) == len(scopes)

    def test_a_plain_name_is_kept(self) -> None:
        assert learnings_file("classify-email-intent") == "classify-email-intent.md"
        assert learnings_file("package") == "_package.md"


class TestInjected:
    def test_without_frontmatter_and_ids(self, folder: Path) -> None:
        append_entry(folder, FIRST, 50)
        append_entry(folder, numbered(1, "qualify"), 50)
        text = package_learnings(folder)
        assert text.startswith("### Discounts need a reason\n\n- Date: 2026-01-15\n")
        assert text.endswith("- Confidence: high")
        assert "learning:" not in text
        assert function_learnings(folder, "qualify").startswith("### Entry 1\n\n")

    def test_nothing_yet(self, folder: Path) -> None:
        assert package_learnings(folder) == ""
        assert function_learnings(folder, "qualify") == ""
        assert entries(folder, "package") == []

    def test_the_archive_is_not(self, folder: Path) -> None:
        for number in range(3):
            append_entry(folder, numbered(number), 1)
            append_entry(folder, numbered(number + 10, "qualify"), 1)
        assert "Entry 0" not in package_learnings(folder)
        assert "Entry 10" not in function_learnings(folder, "qualify")

    def test_the_package_is_no_function(self, folder: Path) -> None:
        """Its learnings are in the prompt already."""
        append_entry(folder, FIRST, 50)
        assert function_learnings(folder, "package") == ""


NAMES = [
    "classify",
    "true",
    "123",
    "null",
    "a: b",
    'it\'s "so"',
    "function:x",
    "# no",
    "Zoë 🦊",
    "- x",
    "a\\b",
    "2026-01-15",
    "y",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_written_scope_validates(package: Path, name: str) -> None:
    """As `expert validate` looks at it, whatever the function is called."""
    function = package / "functions" / "classify-email-intent.md"
    head = split_frontmatter(function.read_text()).head
    assert head
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    function.write_text(function.read_text().replace("name: classify-email-intent", f"name: {quoted}", 1))
    read = read_package(package).package
    assert read
    assert name in [each.name for each in read.functions]
    for scope in ("package", name):
        append_entry(package / "learnings", numbered(1, scope), 50)
        findings = Findings()
        check_learnings_scope(PackageFolder(package, findings), f"learnings/{learnings_file(scope)}", read)
        assert [str(each) for each in findings] == []
