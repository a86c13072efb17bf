"""Which files of a home other users of the machine may read, and closing them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from colleague.home import Home

OTHERS = 0o077


def open_to_others(home: Home) -> list[Path]:
    """The home, its settings and variables, and all of state/, logs/ and experts/ that others may read."""
    single = (home.root, home.settings_file, home.env_file)
    below = (path for folder in (home.state, home.logs, home.experts) for path in _walk(folder))
    return [path for path in (*single, *below) if _is_open(path)]


def close_to_others(paths: list[Path]) -> list[Path]:
    """Takes the rights of others away; returns what could not be changed."""
    failed = []
    for path in paths:
        try:
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
        except OSError:
            failed.append(path)
    return failed


def _walk(folder: Path) -> Iterator[Path]:
    """Links are not followed: what they lead to is not the home's."""
    if not folder.is_symlink():
        yield folder
        for path, folders, names in os.walk(folder):
            yield from (Path(path) / name for name in (*folders, *names))


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and bool(mode & OTHERS)
