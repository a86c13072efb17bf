"""A home with an expert at work in the demo office, and the office's own database to look into."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SALES, Colleague, Said
from tests.forked import forked_command

SERVER = ROOT / "examples" / "office" / "server.py"
DESK = "support-desk-expert"
TOOLS = {SALES: ("crm", "email", "calendar"), DESK: ("tickets",)}


@dataclass(frozen=True)
class Office:
    """The command line, with the office as its MCP server."""

    colleague: Colleague
    database: Path

    @classmethod
    def open(cls, colleague: Colleague, *options: str, demo: bool = True) -> Office:
        database = colleague.home.parent / "office.sqlite"
        settings = colleague.home / "colleague.json"
        if not settings.exists():
            colleague.home.mkdir(parents=True, exist_ok=True)
            settings.write_text('{"hooks": {"token": "a-token-of-all-hooks"}}')
            settings.chmod(0o600)
        command = forked_command(str(SERVER), "--database", str(database), *options)
        colleague.ok("mcp", "add", "office", *(["--demo"] if demo else []), "--", *command)
        return cls(colleague, database)

    def employ(self, expert: str, package: Path | None = None) -> None:
        """The first example that a home gets is copied from one where it was installed by these commands."""
        if package is None and not (self.colleague.home / "experts").exists():
            shutil.copytree(_home_with(expert), self.colleague.home, dirs_exist_ok=True)
            return
        self.colleague.ok("expert", "install", str(package or ROOT / "examples" / expert))
        for tool in TOOLS[expert]:
            self.colleague.ok("expert", "bind", expert, tool, "office")

    def play(self, *replies: dict[str, Any], name: str = "play") -> str:
        """A script as a model; returns the model's name."""
        file = self.colleague.home / f"{name}.yaml"
        file.write_text(json.dumps({"log": f"{name}.log", "replies": list(replies)}))
        return f"script/{file}"

    def run(self, expert: str, *arguments: str, model: str, **environment: str) -> Said:
        return self.colleague("expert", "run", expert, *arguments, "--model", model, **environment)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.database) as db:
            return list(db.execute(query))

    @property
    def effects(self) -> list[str]:
        """Every change the office has seen, in order."""
        return [row[0] for row in self.rows("SELECT operation FROM ledger ORDER BY id")]

    def last_run(self) -> dict[str, Any]:
        run = self.colleague.ok("run", "list", "--limit", "1", "--json").json[0]
        document: dict[str, Any] = self.colleague.ok("run", "show", run["id"], "--json").json
        return document

    def pending(self) -> list[dict[str, Any]]:
        approvals: list[dict[str, Any]] = self.colleague.ok("approval", "list", "--json").json
        return approvals

    def workspace(self, expert: str) -> Path:
        return self.colleague.home / "workspace" / "expert-state" / expert


@functools.cache
def _home_with(expert: str) -> Path:
    """Without settings, which name the office's database."""
    folder = Path(tempfile.mkdtemp(prefix="employed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    office = Office.open(Colleague(folder / "home"))
    office.employ(expert, ROOT / "examples" / expert)
    office.colleague.ok("run", "list")  # so that the database is there
    (office.colleague.home / "colleague.json").unlink()
    return office.colleague.home


def call(operation: str, saying: str = "", /, **arguments: Any) -> dict[str, Any]:
    """A reply that makes one call."""
    return {"text": saying, "calls": [{"operation": operation, "arguments": arguments}]}


def calls(*pairs: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A reply that makes several."""
    return {"calls": [{"operation": operation, "arguments": arguments} for operation, arguments in pairs]}


def step(number: int, status: str = "done", note: str = "") -> dict[str, Any]:
    return call("mark_step", step=number, status=status, note=note)


def finished(narrative: str = "All is written.", *, steps: int = 2, **more: Any) -> dict[str, Any]:
    """A reply that marks every step of a checklist as done and ends the work."""
    marks = [("mark_step", {"step": number + 1, "status": "done"}) for number in range(steps)]
    return calls(*marks, ("complete", {"narrative": narrative, **more}))
