"""The folder of trajectories: names of files, and what is removed from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colleague.agent.tracing.trajectory_folder import TrajectoryFolder, file_name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("main", "main.jsonl"),
        ("agent:main:main", "agent_main_main.jsonl"),
        ("expert:sales:work:0123", "expert_sales_work_0123.jsonl"),
    ],
)
def test_a_file_is_named_by_its_key(key: str, name: str) -> None:
    assert file_name(key) == name


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "..", "", "a\0b", "\ud800", "ü" * 500, "a b"])
def test_no_key_leads_elsewhere(key: str) -> None:
    name = file_name(key)
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith("..")
    assert len(name.encode()) < 255
    assert file_name(key + "x") != name


def made(folder: Path, key: str, changed: int, text: str = "{}") -> None:
    TrajectoryFolder(folder).append(key, text)
    os.utime(folder / file_name(key), (changed, changed))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_the_oldest_go_when_there_is_too_much(tmp_path: Path) -> None:
    for number in range(5):
        made(tmp_path, f"s{number}", 2_000_000_000 + number, "x" * 1000)
    TrajectoryFolder(tmp_path, most_bytes=3500).prune()
    assert names(tmp_path) == ["s2.jsonl", "s3.jsonl", "s4.jsonl"]
    TrajectoryFolder(tmp_path, most_files=1).prune()
    assert names(tmp_path) == ["s4.jsonl"]


def test_what_is_older_than_runs_are_kept_goes(tmp_path: Path) -> None:
    made(tmp_path, "old", 1_000_000)
    made(tmp_path, "new", 4_000_000_000)
    TrajectoryFolder(tmp_path, keep_seconds=3600).prune()
    assert names(tmp_path) == ["new.jsonl"]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs.jsonl").write_text('{"mine": true}\n')
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "theirs.jsonl")
    TrajectoryFolder(tmp_path, keep_seconds=0, most_bytes=0, most_files=0).prune()
    assert names(tmp_path) == ["folder.jsonl", "link.jsonl", "notes.txt", "theirs.jsonl"]
