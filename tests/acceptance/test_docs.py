"""The documentation is true: commands work and print what is shown, links lead somewhere, YAML can be read.

In a ```console block a line that begins with "$ " is typed, and the lines below it are what it prints. There,
"..." stands for lines or words left out, and a last line "# exit 1" tells an exit code other than 0. A block
with a file name after its language is what a person writes into that file: `diff` changes lines of it, `yaml`
sets its top-level keys, anything else is the whole file. ```sh blocks are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.acceptance.test_expert import git
from tests.conftest import ROOT, Colleague

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
URL = "https://example.com/you/your-expert.git"


@dataclass(frozen=True)
class Command:
    line: str
    shown: list[str]
    code: int


@dataclass(frozen=True)
class Reader:
    """Someone who works through a page, with a home folder and a repository of their own."""

    colleague: Colleague

    @property
    def folder(self) -> Path:
        return self.colleague.home.parent

    @property
    def repository(self) -> str:
        return f"file://{self.folder}/your-expert"

    def types(self, command: Command) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command.line.replace(URL, self.repository)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
            cwd=ROOT,
            env=self.colleague.environment({"PATH": path}),
        )
        printed = self.as_on_the_page(done.stdout)
        assert done.returncode == command.code, f"{command.line}\n{printed}"
        assert is_shown(printed, command.shown), f"{command.line}\n{printed}"

    def as_on_the_page(self, text: str) -> str:
        text = text.replace(self.repository, URL).replace(str(ROOT), "/home/you/colleague")
        text = text.replace(str(self.folder), "/home/you")
        return "".join(line.rstrip() + "\n" for line in text.splitlines())

    def writes(self, name: str, language: str, text: str) -> None:
        file = self.folder / name.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if language == "diff":
            text = changed(file.read_text(), text)
        elif language == "yaml" and file.exists():
            text = yaml.safe_dump(yaml.safe_load(file.read_text()) | yaml.safe_load(text), sort_keys=False)
        file.write_text(text)


def changed(text: str, difference: str) -> str:
    lines = difference.splitlines()
    old = [line[1:] for line in lines if line.startswith("-")]
    new = [line[1:] for line in lines if line.startswith("+")]
    for before, after in zip(old, new, strict=True):
        assert text.count(f"{before}\n") == 1, before
        text = text.replace(f"{before}\n", f"{after}\n")
    return text


def is_shown(printed: str, shown: list[str]) -> bool:
    lines = (re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown)
    pattern = "".join(r"(?:.*\n)*" if line == ".*\n" else line for line in lines)
    return re.fullmatch(pattern, printed) is not None


def tokens(page: Path) -> list[Token]:
    return MarkdownIt().parse(page.read_text())


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Language, file name (or nothing) and text of every fenced block."""
    for token in tokens(page):
        if token.type == "fence":
            language, _, name = token.info.strip().partition(" ")
            yield language, name, token.content


def commands(text: str) -> Iterator[Command]:
    for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, *shown = typed.splitlines()
        code = int(shown.pop().removeprefix("# exit ")) if shown and shown[-1].startswith("# exit ") else 0
        yield Command(line, shown, code)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    colleague = Colleague(tmp_path / ".openclaw")
    repository = tmp_path / "your-expert"
    colleague.ok("expert", "new", "your-expert", "--folder", str(repository))
    for arguments in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git(repository, *arguments)
    return Reader(colleague)


@pytest.mark.parametrize("name", ["getting-started.md", "writing-an-expert.md"])
def test_a_reader_can_do_and_sees_what_the_page_says(reader: Reader, name: str) -> None:
    for language, file, text in blocks(DOCS / name):
        if file:
            reader.writes(file, language, text)
        elif language == "console":
            for command in commands(text):
                reader.types(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_a_file(page: Path) -> None:
    links = {
        str(child.attrs.get("href") or child.attrs.get("src"))
        for token in tokens(page)
        for child in token.children or ()
        if child.type in ("link_open", "image")
    }
    local = {link.partition("#")[0] for link in links if not re.match(r"[a-z]+:", link)}
    assert [link for link in sorted(local) if not (page.parent / link).exists()] == []


def test_yaml_examples_can_be_read() -> None:
    examples = [text for language, _, text in blocks(DOCS / "writing-an-expert.md") if language == "yaml"]
    assert examples
    for text in examples:
        assert yaml.safe_load(text), text
