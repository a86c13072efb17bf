"""Copies of packages by digest, so that a run can finish on the version it began with."""

from __future__ import annotations

import os
from pathlib import Path

from colleague.errors import PackageError
from colleague.files import locked
from colleague.packages.digest import digest_of
from colleague.packages.package import Package
from colleague.packages.staging import copy_entries, new_stage, put_in_place


def copy_package(package: Package, target: Path) -> None:
    """Copies exactly the version that was read; an author who saves a file meanwhile is told."""
    copy_entries(package.root, package.entries, target)
    if digest_of(target, package.entries) != package.digest:
        raise PackageError(f"{package.root} was changed while it was being copied", hint="try again")


def take_snapshot(package: Package, snapshots: Path) -> Path:
    """The folder that holds exactly this version, made when it is not there yet. Many may ask at once."""
    target = snapshots / package.digest
    if _is_there(target):
        return target
    with locked(snapshots / ".lock"):
        if not _is_there(target):
            stage = new_stage(snapshots)
            copy_package(package, stage)
            put_in_place(stage, target)
    return target


def _is_there(target: Path) -> bool:
    """Also says that it is in use again, so that it is not forgotten before its run is accepted."""
    try:
        os.utime(target)
    except FileNotFoundError:
        return False
    return True
