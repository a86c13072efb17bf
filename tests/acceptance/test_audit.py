"""The audit log has what commands change: in files by themselves, and in the database."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from colleague.user_name import user_name
from tests.conftest import EXAMPLE, ROOT, SALES, Colleague, Said

SERVER = (sys.executable, str(ROOT / "tests" / "integration" / "experts" / "ledger.py"), "{home}/book")
SECRET = "sk-never-in-a-log"  # noqa: S105 - of a test

STORY: list[tuple[str, str, str, str]] = [
    # what is typed; then action, subject and expert of its entry
    ("model add mine --provider openai --model m1 --api-key-env MY_KEY", "model.add", "mine/m1", ""),
    ("model auth add mine:work --provider mine --env MY_KEY", "auth.add", "mine:work", ""),
    (f"mcp add ledger --env TOKEN={SECRET} -- {' '.join(SERVER)}", "server.add", "ledger", ""),
    ("mcp accept ledger", "server.accept", "ledger", ""),
    ("expert install {package}", "expert.install", SALES, SALES),
    (f"expert bind {SALES} crm ledger", "expert.bind", "crm", SALES),
    (f"expert unbind {SALES} crm", "expert.unbind", "crm", SALES),
    (f"expert bind {SALES} crm ledger", "expert.bind", "crm", SALES),
    (f"expert bind {SALES} email ledger", "expert.bind", "email", SALES),
    (f"expert bind {SALES} calendar ledger", "expert.bind", "calendar", SALES),
    (f"expert enable {SALES}", "expert.enable", SALES, SALES),
    (f"expert update {SALES} --yes --force", "expert.update", SALES, SALES),
    (f"expert disable {SALES}", "expert.disable", SALES, SALES),
    ("plugin enable mail-guard", "plugin.enable", "mail-guard", ""),
    ("plugin disable mail-guard", "plugin.disable", "mail-guard", ""),
    ("user add anna --role viewer", "person.add", "anna", ""),
    (f"expert remove {SALES}", "expert.remove", SALES, SALES),
    ("model auth remove mine:work", "auth.remove", "mine:work", ""),
    ("mcp remove ledger", "server.remove", "ledger", ""),
    ("db restore {home}/copy", "database.restore", "{home}/copy", ""),
    ("db new --yes", "database.new", "", ""),
]
QUIET = (
    *("expert list", "mcp list", "plugin list", "config show", "expert remove nobody", "mcp remove nobody"),
    *("plugin enable nobody", "model auth remove nobody"),
)
"""Commands that only look, or are refused."""


def entries(colleague: Colleague) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = colleague.ok("audit", "list", "--limit", "1000", "--json").json
    return found[::-1]


def lines(colleague: Colleague) -> list[dict[str, Any]]:
    file = colleague.home / "state" / "audit.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def newer(package: Path) -> None:
    """The source goes on, so that there is something to update to."""
    manifest = package / "expert.yaml"
    text = manifest.read_text()
    version = yaml.safe_load(text)["version"]
    manifest.write_text(text.replace(f"{version}", "9.0.0", 1))


def test_a_life_of_commands(colleague: Colleague, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(EXAMPLE, package)
    colleague.ok("init")
    shutil.copytree(ROOT / "examples" / "plugins" / "mail-guard", colleague.home / "plugins" / "mail-guard")
    where = {"package": str(package), "home": str(colleague.home)}
    expected = []
    for typed, action, subject, expert in STORY:
        if action == "expert.update":
            newer(package)
        elif action == "database.restore":
            colleague.ok("db", "backup", f"{colleague.home}/copy")
        said = colleague(*(word.format(**where) for word in typed.split()), MY_KEY="a key")
        assert "audit log" not in said.err, said.err
        expected.append((action, subject.format(**where), expert))
    found = entries(colleague)
    told = [(each["action"], each["subject"], each["expert"]) for each in found]
    told = [each for each in told if each[0] != "auth.forget"]  # what the database forgets with a profile
    assert told == expected
    assert {(each["who"], each["source"]) for each in found} == {(user_name(), "command")}
    assert SECRET not in json.dumps(found)
    assert lines(colleague) == []
    assert entries(colleague) == found, "an entry is taken in once"


def test_what_changes_nothing_leaves_no_line(installed: Colleague) -> None:
    before = lines(installed)
    for typed in QUIET:
        installed(*typed.split())
        assert lines(installed) == before, typed
    assert [each["action"] for each in entries(installed)] == ["expert.install"]


def warnings(said: Said) -> list[str]:
    return [line for line in said.err.splitlines() if line.startswith("warning: ")]


def test_a_database_that_is_away_holds_nothing_up(installed: Colleague) -> None:
    settings = installed.home / "colleague.json"
    settings.write_text('{"experts": {"database": "postgresql://nobody@127.0.0.1:1/nothing"}}')
    said = installed.ok("expert", "bind", SALES, "crm", "ledger")
    assert warnings(said) == []
    assert [each["action"] for each in lines(installed)] == ["expert.install", "expert.bind"]
    assert installed("audit", "list").code != 0
    settings.unlink()
    assert [each["action"] for each in entries(installed)] == ["expert.install", "expert.bind"]


def test_a_line_that_cannot_be_written_is_said(installed: Colleague) -> None:
    file = installed.home / "state" / "audit.jsonl"
    file.unlink()
    file.mkdir()
    said = installed.ok("expert", "bind", SALES, "crm", "ledger")
    [line] = warnings(said)
    assert line.startswith("warning: expert.bind is done and not in the audit log: ")
    assert "crm" in (installed.expert() / "bindings.yaml").read_text()


def test_a_torn_line_costs_only_itself(installed: Colleague) -> None:
    file = installed.home / "state" / "audit.jsonl"
    file.write_bytes(file.read_bytes() + b'{"id": "torn')
    installed.ok("expert", "bind", SALES, "crm", "ledger")
    assert [each["action"] for each in entries(installed)] == ["expert.install", "expert.bind"]


def test_taken_in_before_a_kill_and_again_after_it(installed: Colleague) -> None:
    """The commit is there, the file is not removed: as after kill -9 between the two."""
    file = installed.home / "state" / "audit.jsonl"
    kept = file.read_bytes()
    first = entries(installed)
    file.write_bytes(kept)
    assert entries(installed) == first
    assert not file.exists()
