"""Putting a package's folder in place by one rename, so that a crash leaves the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from colleague.failpoints import failpoint
from colleague.files import private_folder, private_opener, sync_folder
from colleague.packages.folder import FolderEntry

STAGING = ".staging"
_OLD = ".old"
_MANY = 50
"""From so many files on, one flush of the whole disk is sooner done than one for each."""


def new_stage(parent: Path) -> Path:
    """An empty folder beside the packages, on the same disk, to build a new version in."""
    stage = parent / STAGING / os.urandom(8).hex()
    private_folder(stage)
    return stage


def copy_entries(root: Path, entries: Iterable[FolderEntry], target: Path) -> None:
    """Copies a package's files, flushed to disk, so that the rename after it is never ahead of them."""
    folders: set[Path] = {target}
    files: list[Path] = []
    for entry in entries:
        path = target / entry.path
        if path.parent not in folders:
            private_folder(path.parent)
            folders.add(path.parent)
        if entry.link_to is not None:
            path.symlink_to(entry.link_to)
        else:
            _copy_file(root / entry.path, path)
            files.append(path)
    if len(files) < _MANY or not _sync_disk(target):
        for each in (*files, *_with_parents(folders, target)):
            sync_folder(each)


def _with_parents(folders: Iterable[Path], top: Path) -> set[Path]:
    """Also the folders between, which hold nothing but folders."""
    found = {above for folder in folders for above in (folder, *folder.parents)}
    return {each for each in found if each.is_relative_to(top)}


def _sync_disk(folder: Path) -> bool:
    """Flushes the file system that holds `folder`; False where the system cannot."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or not hasattr(library, "syncfs"):
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return bool(library.syncfs(descriptor) == 0)
    finally:
        os.close(descriptor)


def _delete(folder: Path) -> None:
    """With the staging folder itself, when nothing else is being staged."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def _copy_file(source: Path, target: Path) -> None:
    import shutil

    with source.open("rb") as reading, open(target, "xb", opener=private_opener) as writing:
        shutil.copyfileobj(reading, writing)


def put_in_place(stage: Path, target: Path) -> None:
    """Makes `stage` the folder at `target` in one step; what was there before is deleted afterwards."""
    if not target.exists():
        stage.rename(target)
    elif not _exchange(stage, target):
        _swap_by_two_renames(stage, target)
    sync_folder(target.parent)
    failpoint("staging.placed")
    _delete(stage)


def take_away(target: Path, parent: Path) -> None:
    """Removes the folder at `target` in one step."""
    stage = parent / STAGING / os.urandom(8).hex()
    private_folder(stage.parent)
    target.rename(stage)
    sync_folder(target.parent)
    failpoint("staging.taken")
    _delete(stage)


def needs_recovery(parent: Path) -> bool:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return any(each.name.endswith(_OLD) for each in (parent / STAGING).iterdir())
    return False


def sweep(parent: Path) -> None:
    """Ends what a crash left half done. Only for the process that holds the lock."""
    for left in (parent / STAGING).glob("*"):
        target = parent / left.name.removesuffix(_OLD)
        if left.name.endswith(_OLD) and not target.exists():
            left.rename(target)
        else:
            _delete(left)
    with contextlib.suppress(OSError):
        (parent / STAGING).rmdir()


def _swap_by_two_renames(stage: Path, target: Path) -> None:
    """For disks that cannot exchange two folders: a crash between the renames is mended by `sweep`."""
    old = stage.with_name(target.name + _OLD)
    target.rename(old)
    failpoint("staging.between")
    stage.rename(target)
    _delete(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders in one step where the system can; Python has no call for it."""
    if os.environ.get("COLLEAGUE_NO_EXCHANGE"):
        return False
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    here = -100  # AT_FDCWD
    exchange = 2
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        return bool(library.renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return bool(library.renamex_np(os.fsencode(one), os.fsencode(other), exchange) == 0)
    return False
