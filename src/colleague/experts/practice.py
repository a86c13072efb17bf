"""The example expert and its practice office: everything to try Colleague without a key or an account."""

from __future__ import annotations

import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.errors import ColleagueError, NotFound
from colleague.experts.bind import bind_tool, set_bindings
from colleague.experts.bindings import read_bindings
from colleague.experts.expert import Expert, discover, require_valid
from colleague.experts.install import changing_expert, install_expert
from colleague.experts.registry import set_enabled
from colleague.home import Home
from colleague.mcp.entries import add_entry, defined_at
from colleague.packages.finding import Findings
from colleague.packages.source import Source

EXPERT = "radiant-sales-expert"
TRIGGER = "new_email"
OFFICE = "office"
TOOLS = ("crm", "email", "calendar")
RECEIVE_SECONDS = 60


def example_folder(name: str) -> Path:
    """An example beside the sources, or the copy that ships with the installed package."""
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "examples", here.parents[3] / "examples"):
        if (folder / name).is_dir():
            return folder / name
    raise NotFound(f"the example {name} is missing", hint="install Colleague again")


def office_command(database: Path) -> list[str]:
    return [sys.executable, str(example_folder(OFFICE) / "server.py"), "--database", str(database)]


def receive_mail(database: Path, sender: str, subject: str, body: str) -> dict[str, Any]:
    """Lets a mail arrive in the office; what the mailbox tells of it."""
    options = ["--receive", sender, "--subject", subject, "--body", body]
    done = subprocess.run(
        [*office_command(database), *options], capture_output=True, timeout=RECEIVE_SECONDS, check=False
    )
    if done.returncode:
        raise ColleagueError(
            "the office did not take the mail", hint=done.stderr.decode(errors="replace")[-300:]
        )
    with closing(sqlite3.connect(database)) as opened:
        query = "SELECT message_id, subject FROM mails WHERE sent = 0 ORDER BY rowid DESC LIMIT 1"
        message_id, kept = opened.execute(query).fetchone()
    return {"messages": [{"id": message_id, "from": sender, "subject": kept}]}


def is_empty(home: Home) -> bool:
    """Whether no expert is installed."""
    return next(iter(discover(home)), None) is None


@dataclass(frozen=True)
class PracticeSetup:
    """The example in one home. Every step can be done again."""

    home: Home
    workspace: Path

    @property
    def database(self) -> Path:
        return self.home.root / "practice-office.sqlite"

    @property
    def expert(self) -> Expert | None:
        return next((each for each in discover(self.home) if each.name == EXPERT), None)

    @property
    def bound(self) -> bool:
        """Whether its tools are the office's, and its triggers are on."""
        found = self.expert
        if found is None or not found.record.enabled or defined_at(self.home, OFFICE) is None:
            return False
        tools = read_bindings(found.bindings_file, Findings()).tools
        return all(name in tools for name in TOOLS)

    def install(self, model: str, folder: Path | None = None) -> None:
        """With the model that it is to think with; empty is the home's own."""
        if self.expert is None:
            source = Source("folder", str(folder or example_folder(EXPERT)))
            install_expert(self.home, self.workspace, source, name=EXPERT, progress=lambda _: None)
        if model:
            self._set({"model": model})

    def add_office(self, *options: str) -> None:
        """Writes the office into the settings; rehearsals may act on it."""
        if defined_at(self.home, OFFICE) is None:
            command, *arguments = *office_command(self.database), *options
            add_entry(self.home, OFFICE, {"command": command, "args": arguments, "demo": True})

    def bind(self, secret: str = "") -> None:
        """Binds its tools to the office and turns its triggers on. Without a secret one is made."""
        with changing_expert(self.home, self.workspace, EXPERT) as expert:
            package = require_valid(expert.read(), EXPERT)
            for tool in TOOLS:
                bind_tool(expert, package, tool, OFFICE, skill=False, operations={})
        found = read_bindings(expert.bindings_file, Findings())
        if TRIGGER not in found.triggers:
            self._set({"triggers": {TRIGGER: {"secret": secret or secrets.token_urlsafe(24)}}})
        set_enabled(self.home, EXPERT, True)

    def _set(self, values: Mapping[str, Any]) -> None:
        with changing_expert(self.home, self.workspace, EXPERT) as expert:
            set_bindings(expert, values)
