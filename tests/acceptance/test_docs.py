"""The documentation is true: commands work and print what is shown, links lead somewhere, YAML can be read.

In a ```console block a line that begins with "$ " is typed, and the lines below it are what it prints. There,
"..." stands for lines or words left out, and a last line "# exit 1" tells an exit code other than 0. Eight
hexadecimal digits are an id: any will do where it is first shown, and the same one from then on. A block with
a file name after its language is what a person writes into that file: `diff` changes lines of it, `yaml` sets
its top-level keys, anything else is the whole file. ```sh blocks are not run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from typer.core import TyperGroup
from typer.main import get_command

from colleague.cli.app import build_app
from tests.acceptance.test_expert import git
from tests.conftest import ROOT, Colleague
from tests.forked import forked_programs

DOCS = ROOT / "docs"
GUIDES = sorted(page.name for page in DOCS.glob("*.md") if "```console" in page.read_text())
PAGES = [
    ROOT / "README.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
URL = "https://example.com/you/your-expert.git"
YOU, CLONE = "/home/you", "/home/you/colleague"
ID = re.compile(r"\b[0-9a-f]{8}\b")
SECONDS = 120


@dataclass(frozen=True)
class Command:
    line: str
    shown: list[str]
    code: int


@dataclass(frozen=True)
class Reader:
    """Someone who works through a page, with a home folder and a repository of their own.

    `ids` are those that the page shows, each with the one that was really printed."""

    colleague: Colleague
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.colleague.home.parent

    @property
    def repository(self) -> str:
        return f"file://{self.folder}/your-expert"

    def types(self, command: Command) -> None:
        line = ID.sub(self._real, command.line.replace(URL, self.repository))
        path = os.pathsep.join((forked_programs(), str(Path(sys.executable).parent), os.environ["PATH"]))
        code, output = typed(line, self.colleague.environment({"PATH": path}))
        printed = self.as_on_the_page(output)
        assert code == command.code, f"{command.line}\n{printed}"
        match = re.fullmatch(self._pattern(command.shown), printed)
        assert match, f"{command.line}\n{printed}"
        self.ids.update({name.removeprefix("id_"): found for name, found in match.groupdict().items()})

    def as_on_the_page(self, text: str) -> str:
        text = text.replace(self.repository, URL).replace(str(ROOT), CLONE)
        text = text.replace(str(self.folder), YOU)
        return "".join(line.rstrip() + "\n" for line in text.splitlines())

    def _real(self, shown: re.Match[str]) -> str:
        return self.ids.get(shown[0], shown[0])

    def _pattern(self, shown: list[str]) -> str:
        new: set[str] = set()

        def ending(match: re.Match[str]) -> str:
            name = match[0]
            if name in self.ids or name in new:
                return self.ids.get(name) or f"(?P=id_{name})"
            new.add(name)
            return f"(?P<id_{name}>[0-9a-f]{{8}})"

        lines = (ID.sub(ending, re.escape(line).replace(r"\.\.\.", ".*")) + "\n" for line in shown)
        return "".join(r"(?:.*\n)*" if line == ".*\n" else line for line in lines)

    def writes(self, name: str, language: str, text: str) -> None:
        file = self.folder / name.removeprefix("~/")
        text = text.replace(CLONE, str(ROOT)).replace(YOU, str(self.folder))
        file.parent.mkdir(parents=True, exist_ok=True)
        if language == "diff":
            text = changed(file.read_text(), text)
        elif language == "yaml" and file.exists():
            text = yaml.safe_dump(yaml.safe_load(file.read_text()) | yaml.safe_load(text), sort_keys=False)
        file.write_text(text)


def typed(line: str, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and everything printed. After the time limit nothing that the line has started goes on."""
    with subprocess.Popen(
        ["sh", "-c", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, printed


def changed(text: str, difference: str) -> str:
    lines = difference.splitlines()
    old = [line[1:] for line in lines if line.startswith("-")]
    new = [line[1:] for line in lines if line.startswith("+")]
    for before, after in zip(old, new, strict=True):
        assert text.count(f"{before}\n") == 1, before
        text = text.replace(f"{before}\n", f"{after}\n")
    return text


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


@pytest.mark.parametrize("name", GUIDES)
def test_a_reader_can_do_and_sees_what_the_page_says(reader: Reader, name: str) -> None:
    for language, file, text in blocks(DOCS / name):
        if file:
            reader.writes(file, language, text)
        elif language == "console":
            for command in commands(text):
                reader.types(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    links = {
        str(child.attrs.get("href") or child.attrs.get("src"))
        for token in tokens(page)
        for child in token.children or ()
        if child.type in ("link_open", "image")
    }
    local = [link for link in sorted(links) if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@cache
def anchors(page: Path) -> frozenset[str]:
    found = tokens(page)
    titles = [after.content for token, after in pairwise(found) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_option_that_is_named_exists(page: Path) -> None:
    assert [line for line in named_commands(page) if not exists(line)] == []


def named_commands(page: Path) -> Iterator[str]:
    """Everything after the word colleague, in code of any kind, up to where another command begins."""
    for token in tokens(page):
        code = [child.content for child in token.children or () if child.type == "code_inline"]
        code += [token.content] if token.type == "fence" else []
        for text in code:
            commands_only = re.sub(r"\s#\s.*", "", text.replace("\\\n", " "))
            yield from re.findall(r"(?:^|[\s;(])colleague ([a-z-][^\n;|]*)", commands_only)


def exists(line: str) -> bool:
    """Whether the command is there, with all the options that the line gives it."""
    words = line.split(" -- ")[0].split()
    command = whole_app()
    while words and isinstance(command, TyperGroup) and re.fullmatch(r"[a-z-]+", words[0]):
        if words[0] not in command.commands:
            return words[0].startswith("-")
        command = command.commands[words.pop(0)]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return set(re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words))) <= known | {"--help", "--debug"}


@cache
def whole_app() -> Any:
    return get_command(build_app())


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert exists("expert validate NAME --offline")
    assert exists("mcp add office --demo -- python server.py --database FILE")
    for line in ("expert vaildate NAME", "expert validate NAME --offlin", "serv"):
        assert not exists(line), line


def test_yaml_examples_can_be_read() -> None:
    examples = [text for language, _, text in blocks(DOCS / "writing-an-expert.md") if language == "yaml"]
    assert examples
    for text in examples:
        assert yaml.safe_load(text), text
