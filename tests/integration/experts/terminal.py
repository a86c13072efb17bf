"""A home with a clerk in it, and a person at the terminal who types what the last command printed."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from colleague.cli.main import main
from tests.conftest import Colleague, Said
from tests.integration.experts.package import CONFIDENCE, Package, function, ledger_package, markdown, text
from tests.integration.experts.stage import LEDGER

PIPELINE = markdown({"name": "pipeline"}, "# Pipeline\n\n## Movements")
RUN = ("expert", "run", "clerk", "--process", "work", "--input", "mail=m-1")
VARYING = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "TAIL"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "SHORT"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00"), "TIME"),
    (re.compile(r"\w+, \d+ \w+ \d{4}, \d\d:\d\d \("), "NOW ("),
    (re.compile(r'("(?:seconds|duration_ms)": )\d[\d.]*'), r"\1LENGTH"),
    (re.compile(r"(finished|failed|unknown) after \d+ s"), r"\1"),
    (re.compile(r"^ +\S+ took \d+ s\n|^.* has said nothing for \d+ s\n", re.MULTILINE), ""),
    # Whether the run ahead was seen running or only queued is a matter of when one looked.
    (re.compile(r"^ +… stands behind run \S+, which is \w+.*\n", re.MULTILINE), ""),
]


def clerk() -> Package:
    work = {
        "inputs": [text("mail"), {"name": "count", "type": "integer", "required": False}],
        "outputs": [{"name": "count", "type": "integer"}],
    }
    package = ledger_package(
        tiers={"append": "confirm", "fail": "manual"}, work=work, concurrency={"default": "serial"}
    )
    package.files["functions/judge.md"] = function(outputs=[CONFIDENCE])
    package.files["state/pipeline.md"] = PIPELINE
    return package


def typed(home: Path, *arguments: str) -> Said:
    """The command in this process, which has everything imported already."""
    out, err = io.StringIO(), io.StringIO()
    patched = (
        patch.object(sys, "argv", ["colleague", *arguments]),
        patch.dict(os.environ, {"OPENCLAW_STATE_DIR": str(home)}),
    )
    with patched[0], patched[1], redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main()
    return Said(int(end.value.code or 0), out.getvalue(), err.getvalue())


@dataclass
class Terminal:
    """A home with the clerk in it, and a person who types what the last command printed."""

    colleague: Colleague
    said: list[Said] = field(default_factory=list)
    processes: bool = False
    """Whether each command is a process of its own."""

    @classmethod
    def open(cls, root: Path, database: str = "") -> Terminal:
        colleague = Colleague(root / "home")
        colleague.home.mkdir(parents=True)
        book = str(colleague.home / "book.txt")
        server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), book]}
        settings = {"mcp": {"servers": {"ledger": server}}}
        experts = {"experts": {"database": database}} if database else {}
        (colleague.home / "colleague.json").write_text(json.dumps(settings | experts))
        source = str(clerk().write(root / "source"))
        for command in (("install", source), ("bind", "clerk", "ledger", "ledger")):
            assert typed(colleague.home, "expert", *command).code == 0
        return cls(colleague)

    def type(self, *arguments: str) -> Said:
        said = self.colleague(*arguments) if self.processes else typed(self.colleague.home, *arguments)
        self.said.append(said)
        return said

    def update(self, **manifest: Any) -> None:
        """A newer version of the clerk, with this in its manifest."""
        package = clerk()
        package.version = "1.1.0"
        package.manifest |= manifest
        package.write(self.colleague.home.parent / "source")
        assert typed(self.colleague.home, "expert", "update", "clerk", "--force", "--yes").code == 0

    def play(self, *replies: dict[str, Any], name: str = "play") -> str:
        (self.colleague.home / f"{name}.yaml").write_text(json.dumps({"replies": list(replies)}))
        return f"script/{name}.yaml"

    def run(self, *replies: dict[str, Any], options: tuple[str, ...] = ()) -> Said:
        """A run with a script of its own: another command may be the one that works on it."""
        model = self.play(*replies, name=f"play{len(self.said)}")
        return self.type(*RUN, "--model", model, *options)

    def printed(self, verb: str, **words: str) -> Said:
        """Types the command with this verb from what was printed last, with words put in where it leaves
        them open."""
        line = next(line.strip() for line in self.said[-1].err.splitlines() if f"colleague {verb} " in line)
        command = line[line.index("colleague ") :].rstrip(")")
        for gap, word in words.items():
            assert gap in command
            command = command.replace(gap, word)
        return self.type(*shlex.split(command)[1:])

    def last(self) -> dict[str, Any]:
        newest = self.type("run", "list", "--limit", "1", "--json").json[0]["id"]
        document: dict[str, Any] = self.type("run", "show", newest, "--json").json
        return document

    @property
    def state(self) -> Path:
        return self.colleague.home / "workspace" / "expert-state" / "clerk"

    @property
    def learned(self) -> str:
        file = self.state / "learnings" / "_package.md"
        return file.read_text() if file.exists() else ""

    @property
    def book(self) -> list[str]:
        file = self.colleague.home / "book.txt"
        return file.read_text().splitlines() if file.exists() else []

    def alike(self) -> list[tuple[int, str, str]]:
        """Everything that was said, without what differs from home to home."""
        return [(each.code, self._plain(each.out), self._plain(each.err)) for each in self.said]

    def _plain(self, words: str) -> str:
        words = words.replace(str(self.colleague.home), "HOME")
        for pattern, name in VARYING:
            words = pattern.sub(name, words)
        return words
