"""Copies of packages are kept while anything names them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from colleague.experts.registry import Record, write_record
from colleague.experts.workspace.snapshots import DAY_MS, forget_snapshots
from colleague.home import Home


def snapshot(home: Home, digest: str, *, age_days: float = 3) -> Path:
    folder = home.snapshots / digest
    folder.mkdir(parents=True)
    (folder / "expert.yaml").write_text("name: x\n")
    moment = time.time() - age_days * 86_400
    os.utime(folder, (moment, moment))
    return folder


def test_only_what_nobody_names_goes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    old = snapshot(home, "old")
    kept = [snapshot(home, "of-a-run"), snapshot(home, "installed"), snapshot(home, "young", age_days=0.5)]
    write_record(home, "sales", Record(digest="installed"))

    assert forget_snapshots(home, {"of-a-run"}, int(time.time() * 1000)) == ["old"]

    assert not old.exists()
    assert all(folder.exists() for folder in kept)
    later = int(time.time() * 1000) + DAY_MS
    assert forget_snapshots(home, {"of-a-run"}, later) == ["young"]


def test_a_home_without_snapshots(tmp_path: Path) -> None:
    assert forget_snapshots(Home(tmp_path), set(), 0) == []
