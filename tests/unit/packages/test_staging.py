"""One folder in place of another, with nothing in between."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from colleague.packages.folder import FolderEntry
from colleague.packages.staging import (
    STAGING,
    copy_entries,
    needs_recovery,
    new_stage,
    put_in_place,
    sweep,
    take_away,
)


@pytest.fixture(params=["exchange", "two renames"])
def experts(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, on a disk that can exchange two folders and on one that cannot."""
    monkeypatch.delenv("COLLEAGUE_NO_EXCHANGE", raising=False)
    if request.param == "two renames":
        monkeypatch.setenv("COLLEAGUE_NO_EXCHANGE", "1")
    return tmp_path


def staged(experts: Path, text: str) -> Path:
    stage = new_stage(experts)
    (stage / "expert.yaml").write_text(text)
    return stage


def installed(experts: Path, text: str) -> Path:
    target = experts / "sales"
    put_in_place(staged(experts, text), target)
    return target


def left_over(experts: Path) -> list[str]:
    return [path.name for path in experts.rglob("*") if STAGING in path.parts]


def moved_aside(experts: Path) -> Path:
    """Where the old one waits between two renames."""
    (experts / STAGING).mkdir(exist_ok=True)
    return experts / STAGING / "sales.old"


def test_a_stage_is_new_and_beside_the_packages(experts: Path) -> None:
    stage = new_stage(experts)
    assert stage.parent == experts / STAGING
    assert list(stage.iterdir()) == []
    assert new_stage(experts) != stage


def test_put_in_place_where_nothing_was(experts: Path) -> None:
    target = installed(experts, "one")
    assert (target / "expert.yaml").read_text() == "one"
    assert left_over(experts) == []


def test_put_in_place_of_another(experts: Path) -> None:
    target = installed(experts, "one")
    (target / "only-in-the-old.md").write_text("old")
    put_in_place(staged(experts, "two"), target)
    assert (target / "expert.yaml").read_text() == "two"
    assert [path.name for path in target.iterdir()] == ["expert.yaml"]
    assert left_over(experts) == []


def test_take_away(experts: Path) -> None:
    target = installed(experts, "one")
    take_away(target, experts)
    assert not target.exists()
    assert left_over(experts) == []


def test_sweep_deletes_what_a_crash_left(experts: Path) -> None:
    target = installed(experts, "one")
    staged(experts, "half done")
    assert not needs_recovery(experts)
    sweep(experts)
    assert left_over(experts) == []
    assert (target / "expert.yaml").read_text() == "one"


def test_sweep_without_a_staging_folder(tmp_path: Path) -> None:
    assert not needs_recovery(tmp_path)
    sweep(tmp_path)


def test_sweep_puts_back_what_was_only_moved_aside(experts: Path) -> None:
    target = installed(experts, "one")
    target.rename(moved_aside(experts))
    assert needs_recovery(experts)
    sweep(experts)
    assert (target / "expert.yaml").read_text() == "one"
    assert not needs_recovery(experts)


def test_sweep_deletes_the_old_one_when_the_new_one_is_there(experts: Path) -> None:
    target = installed(experts, "two")
    moved_aside(experts).mkdir()
    sweep(experts)
    assert (target / "expert.yaml").read_text() == "two"
    assert left_over(experts) == []


CRASH = """
import sys
from pathlib import Path
from colleague.packages.staging import new_stage, put_in_place, take_away
experts = Path(sys.argv[1])
if sys.argv[2] == "take":
    take_away(experts / "sales", experts)
else:
    stage = new_stage(experts)
    (stage / "expert.yaml").write_text("two")
    put_in_place(stage, experts / "sales")
"""


def crash(experts: Path, place: str, action: str = "put") -> None:
    """Replaces or removes the package in a process that is killed at `place`."""
    environment = os.environ | {"COLLEAGUE_FAILPOINT": place}
    ended = subprocess.run([sys.executable, "-c", CRASH, str(experts), action], env=environment, check=False)
    assert ended.returncode == -9


def test_a_crash_after_the_swap_leaves_the_new_one(experts: Path) -> None:
    target = installed(experts, "one")
    crash(experts, "staging.placed")
    sweep(experts)
    assert (target / "expert.yaml").read_text() == "two"
    assert left_over(experts) == []


def test_a_crash_between_two_renames_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLLEAGUE_NO_EXCHANGE", "1")
    target = installed(tmp_path, "one")
    crash(tmp_path, "staging.between")
    assert not target.exists()
    assert needs_recovery(tmp_path)
    sweep(tmp_path)
    assert (target / "expert.yaml").read_text() == "one"
    assert left_over(tmp_path) == []


def test_a_crash_while_taking_away_leaves_nothing(experts: Path) -> None:
    target = installed(experts, "one")
    crash(experts, "staging.taken", "take")
    sweep(experts)
    assert not target.exists()
    assert left_over(experts) == []


def test_copy_entries_copies_files_and_links(tmp_path: Path) -> None:
    root, target = tmp_path / "root", tmp_path / "target"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "data.bin").write_bytes(b"\0\xff")
    (root / "not-listed.md").write_text("no")
    target.mkdir()
    copy_entries(root, [FolderEntry("deep/er/data.bin"), FolderEntry("link", link_to="deep/er")], target)
    assert (target / "deep/er/data.bin").read_bytes() == b"\0\xff"
    assert (target / "link").readlink() == Path("deep/er")
    assert sorted(path.name for path in target.iterdir()) == ["deep", "link"]
