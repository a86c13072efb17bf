"""Copies of packages by digest, so that a run can finish on the version it began with."""

from __future__ import annotations

from pathlib import Path

from colleague.packages.package import Package
from colleague.packages.staging import copy_entries, new_stage, put_in_place


def take_snapshot(package: Package, snapshots: Path) -> Path:
    """The folder that holds exactly this version, made when it is not there yet."""
    target = snapshots / package.digest
    if not target.exists():
        stage = new_stage(snapshots)
        copy_entries(package.root, package.entries, stage)
        put_in_place(stage, target)
    return target
