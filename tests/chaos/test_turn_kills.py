"""A turn with three effects, one reading and one approval, killed with -9 at commits and around effects.

After each kill it is started again. Every effect is in the ledger exactly once, the transcript ends the
same, and the model is not asked again for what it had answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked import forked_command, run_forked
from tests.integration.store.databases import new_database

SCRIPT = """
log: asked.jsonl
replies:
  - text: First the greeting.
    calls: [{operation: ledger.append, arguments: {line: one}}]
  - text: Then the rest.
    calls:
      - {operation: ledger.read_all, arguments: {}}
      - {operation: ledger.append, arguments: {line: two}}
      - {operation: ledger.append, arguments: {line: three}}
  - text: All three lines are there.
"""
TRANSCRIPT = [
    ["go"],
    ["First the greeting.", ["ledger.append", {"line": "one"}]],
    [
        "Then the rest.",
        ["ledger.read_all", {}],
        ["ledger.append", {"line": "two"}],
        ["ledger.append", {"line": "three"}],
    ],
    ["All three lines are there."],
]
LONG = bool(os.environ.get("COLLEAGUE_LONG"))
KILLED = -9


def make_home(folder: Path, database: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "turn.yaml").write_text(SCRIPT)
    ledger = str(ROOT / "tests/chaos/ledger_server.py"), str(folder / "ledger.txt")
    command, *arguments = forked_command(*ledger)
    server = {"command": command, "args": arguments}
    settings: dict[str, object] = {"mcp": {"servers": {"ledger": server}}}
    if database:
        settings["experts"] = {"database": database}
    (folder / "colleague.json").write_text(json.dumps(settings))
    return folder


def drive(home: Path, *, kill: str = "", log: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"COLLEAGUE_FAILPOINT": kill} if kill else {})
    if log:
        environment["COLLEAGUE_FAILPOINT_LOG"] = str(log)
    arguments = [str(home), "script/turn.yaml", "--decide", "--lease", "4000"]
    return run_forked(arguments, environment=environment, cwd=ROOT, program="tests.chaos.drive")


def asked(home: Path) -> int:
    log = home / "asked.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def check_end(home: Path, point: str, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, f"{point}: {done.stderr[-2000:]}"
    told = json.loads(done.stdout)
    assert told["text"] == "All three lines are there.", point
    assert told["transcript"] == TRANSCRIPT, point
    lines = Counter((home / "ledger.txt").read_text().splitlines())
    assert lines == {"one": 1, "two": 1, "three": 1}, f"{point}: {lines}"
    # An answer that was not yet committed when the process died is asked for again, and no other.
    assert asked(home) <= 3 + point.startswith("commit.before"), f"{point}: asked {asked(home)} times"


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every place at which a whole turn can die, in the order in which it comes there."""
    folder = tmp_path_factory.mktemp("whole")
    home = make_home(folder / "home")
    done = drive(home, log=folder / "points")
    check_end(home, "none", done)
    return (folder / "points").read_text().splitlines()


def sample(points: list[str]) -> list[str]:
    """All of them in the long run; else some of each kind."""
    if LONG:
        return points
    effects = [point for point in points if point.startswith("call.")]
    return effects[1::7] + [point for point in points if point not in effects][::40]


def kill_and_go_on(home: Path, point: str) -> bool:
    """False when the turn ended before this point: how often the sweep commits depends on the time."""
    killed = drive(home, kill=point)
    if killed.returncode != KILLED:
        check_end(home, point, killed)
        return False
    check_end(home, point, drive(home))
    return True


def test_killed_on_sqlite(points: list[str], tmp_path: Path) -> None:
    reached = 0
    for number, point in enumerate(sample(points)):
        home = make_home(tmp_path / f"home{number}")
        reached += kill_and_go_on(home, point)
        shutil.rmtree(home)
    assert reached >= len(sample(points)) - (3 if LONG else 1)
    print(f"killed at {reached} of {len(points)} points on SQLite")


def test_killed_on_postgresql_with_two_workers(points: list[str], tmp_path: Path, postgres_url: str) -> None:
    chosen = sample(points) if LONG else ["call.started@1", "call.done@3"]
    reached = 0
    for number, point in enumerate(chosen):
        with new_database(postgres_url) as url:
            reached += kill_and_go_on(make_home(tmp_path / f"home{number}", url), point)
    assert reached >= len(chosen) - (6 if LONG else 0)
    print(f"killed at {reached} of {len(points)} points on PostgreSQL")
