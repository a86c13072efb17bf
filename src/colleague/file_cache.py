"""What was read from a file, kept until the file is another."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

Stamp = tuple[int, int, int, int]

SETTLED_NS = 2_000_000_000
"""The clock of a file system ticks slowly: what changed a moment ago may change again and look the same."""
MOST_KEPT = 256


class FileCache(Generic[T]):
    """Reads a file when it is asked for the first time, and when it is no longer the one that was read."""

    def __init__(self, read: Callable[[Path], T]) -> None:
        self._read = read
        self._found: OrderedDict[Path, tuple[Stamp, T]] = OrderedDict()

    def __call__(self, file: Path) -> T:
        """Whatever `read` raises is raised, and not kept."""
        stamp = _stamp(file)
        found = self._found.get(file)
        if found is not None and found[0] == stamp:
            return found[1]
        self._found.pop(file, None)
        value = self._read(file)
        if stamp is not None and _is_settled(stamp):
            self._found[file] = stamp, value
            if len(self._found) > MOST_KEPT:
                self._found.popitem(last=False)
        return value


def _stamp(file: Path) -> Stamp | None:
    """Of what a link leads to. The time of the last change of any kind cannot be set from outside."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_settled(stamp: Stamp) -> bool:
    return time.time_ns() - stamp[3] > SETTLED_NS
