"""A conversation that is shortened twice, notes saved before each, killed with -9 at commits.

After each kill it is started again. What was said is the same as without the kill, each summary is there
once, and what must stay word for word is in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.forked import run_forked

TURNS = 6
LONG = bool(os.environ.get("COLLEAGUE_LONG"))
KILLED = -9
NOTE = {"operation": "write", "arguments": {"path": "memory/note.md", "text": "Heron has a code.\n"}}
SCRIPT = {
    "log": "asked.jsonl",
    "context_window": 12_000,
    "replies": [
        {"when": "Summarise this conversation", "text": "Much was said."},
        {"when": "about to be shortened", "calls": [NOTE]},
        {"when": "/(?s)./", "text": "Noted."},
    ],
}


def make_home(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "talk.yaml").write_text(json.dumps(SCRIPT))
    settings = {"agents": {"defaults": {"model": "script/talk.yaml"}}}
    (folder / "colleague.json").write_text(json.dumps(settings))
    return folder


def drive(home: Path, *, kill: str = "", log: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"COLLEAGUE_FAILPOINT": kill} if kill else {})
    if log:
        environment["COLLEAGUE_FAILPOINT_LOG"] = str(log)
    arguments = [str(home), str(TURNS)]
    return run_forked(arguments, environment=environment, cwd=ROOT, program="tests.chaos.long_talk")


def checked(point: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, f"{point}: {done.stderr[-2000:]}"
    told: dict[str, Any] = json.loads(done.stdout)
    made = told["made"]
    assert told["answers"] == ["Noted."] * TURNS, point
    assert told["count"] == told["told"] == len(made) >= 2, point
    assert [each["number"] for each in made] == list(range(1, len(made) + 1)), point
    places = [(each["seq"], each["position"]) for each in made]
    assert places == sorted(set(places)), point
    assert all("K-4711-Q" in each["summary"] for each in made), point
    return told


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, Any]]:
    """Every place at which the talk can die, and how it ends when it does not."""
    folder = tmp_path_factory.mktemp("whole")
    told = checked("none", drive(make_home(folder / "home"), log=folder / "points"))
    return (folder / "points").read_text().splitlines(), told


def sample(points: list[str]) -> list[str]:
    """All of them in the long run; else a few of those in the second half, where the talk is shortened."""
    if LONG:
        return points
    late = points[len(points) // 2 :]
    return late[:: max(1, len(late) // 3)][:3]


def test_killed_while_it_is_shortened(whole: tuple[list[str], dict[str, Any]], tmp_path: Path) -> None:
    points, expected = whole
    reached = 0
    for number, point in enumerate(sample(points)):
        home = make_home(tmp_path / f"home{number}")
        killed = drive(home, kill=point)
        reached += killed.returncode == KILLED
        told = checked(point, killed if killed.returncode == 0 else drive(home))
        assert told["said"] == expected["said"], point
        assert [each["summary"] for each in told["made"]] == [each["summary"] for each in expected["made"]]
        assert (home / "workspace/memory/note.md").read_text() == "Heron has a code.\n", point
    assert reached >= len(sample(points)) - 2
    print(f"killed at {reached} of {len(points)} points")
