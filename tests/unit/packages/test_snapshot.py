"""Copies of packages: one for each version, however many ask for it at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from colleague.packages.digest import digest_of
from colleague.packages.package import read_package
from colleague.packages.snapshot import take_snapshot
from colleague.packages.staging import STAGING
from tests.conftest import EXAMPLE


def test_many_at_once_make_one(tmp_path: Path) -> None:
    package = read_package(EXAMPLE).package
    assert package is not None
    for number in range(5):
        snapshots, together = tmp_path / str(number), Barrier(16)

        def take(folder: Path = snapshots, together: Barrier = together) -> int:
            together.wait()
            return take_snapshot(package, folder).stat().st_ino

        with ThreadPoolExecutor(16) as threads:
            taken = {each.result() for each in [threads.submit(take) for _ in range(16)]}
        assert len(taken) == 1, "one was put in place of another"
        assert digest_of(snapshots / package.digest, package.entries) == package.digest
        assert not (snapshots / STAGING).exists()


def test_one_that_is_there_is_left_alone_and_used_again(tmp_path: Path) -> None:
    package = read_package(EXAMPLE).package
    assert package is not None
    first = take_snapshot(package, tmp_path)
    made = first.stat().st_ino
    os.utime(first, (1, 1))
    assert take_snapshot(package, tmp_path).stat().st_ino == made
    assert first.stat().st_mtime > 1
