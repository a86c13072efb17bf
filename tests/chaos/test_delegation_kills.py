"""A parent spawns five children; the process is killed while they run, and again while they announce.

The parent gets exactly five results, each as one turn."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked import run_forked
from tests.integration.store.databases import new_database

CHILDREN = 5
KILLED = -9
SPAWN = [
    {"operation": "sessions_spawn", "arguments": {"task": f"Count to {number}", "model": "script/child.yaml"}}
    for number in range(CHILDREN)
]
PARENT = [
    {"text": "Five at once.", "calls": SPAWN},
    {"when": "Started agent:main:subagent", "text": "They are at work."},
    {"when": "counted", "text": "One more is done."},
]
CHILD = [{"text": "counted"}]
WHOLE = ["agent done completed"] * (CHILDREN + 1) + ["subagent done completed"] * CHILDREN


def make_home(folder: Path, database: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "parent.yaml").write_text(json.dumps({"replies": PARENT}))
    (folder / "child.yaml").write_text(json.dumps({"replies": CHILD}))
    settings = {"experts": {"database": database}} if database else {}
    (folder / "colleague.json").write_text(json.dumps(settings))
    return folder


def drive(home: Path, kill: str = "") -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"COLLEAGUE_FAILPOINT": kill} if kill else {})
    arguments = [str(home), "script/parent.yaml", "--lease", "4000"]
    return run_forked(arguments, environment=environment, cwd=ROOT, program="tests.chaos.delegating")


def check(home: Path, *kills: str) -> None:
    for kill in kills:
        killed = drive(home, kill)
        assert killed.returncode == KILLED, f"{kill}: {killed.stderr[-2000:]}"
    done = drive(home)
    assert done.returncode == 0, f"{kills}: {done.stderr[-2000:]}"
    seen = json.loads(done.stdout)
    assert len(seen["results"]) == len(set(seen["results"])) == CHILDREN, f"{kills}: {seen}"
    assert seen["runs"] == sorted(WHOLE), f"{kills}: {seen}"
    told = ["Five at once.", "They are at work.", *["One more is done."] * CHILDREN]
    assert seen["answers"] == told, f"{kills}: {seen}"


@pytest.mark.parametrize(
    "kills",
    [
        ("call.started@3", "run.completed@2", "announce@2"),
        ("run.completed@3", "announce@1", "announce@2"),
        ("run.completed@1", "announce@4"),
    ],
)
def test_five_results_on_sqlite(tmp_path: Path, kills: tuple[str, ...]) -> None:
    check(make_home(tmp_path / "home"), *kills)


def test_five_results_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    with new_database(postgres_url) as url:
        check(make_home(tmp_path / "home", url), "run.completed@2", "announce@2")
