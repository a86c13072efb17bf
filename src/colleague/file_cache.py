"""What was read from a file, kept until the file is another."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from colleague.file_stamp import FileStamp, file_stamp

T = TypeVar("T")

SETTLED_NS = 2_000_000_000
"""The clock of a file system ticks slowly: what changed a moment ago may change again and look the same."""
MOST_KEPT = 256


class FileCache(Generic[T]):
    """Reads a file when it is asked for the first time, and when it is no longer the one that was read."""

    def __init__(self, read: Callable[[Path], T], most: int = MOST_KEPT) -> None:
        self._read = read
        self._most = most
        self._found: OrderedDict[Path, tuple[FileStamp, T]] = OrderedDict()

    def __call__(self, file: Path) -> T:
        """Whatever `read` raises is raised, and not kept."""
        stamp = file_stamp(file)
        found = self._found.get(file)
        if found is not None and found[0] == stamp:
            return found[1]
        self._found.pop(file, None)
        value = self._read(file)
        if stamp is not None and is_settled(stamp):
            self._found[file] = stamp, value
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return value


def is_settled(stamp: FileStamp) -> bool:
    """Whether a change from now on would surely be seen in the stamp."""
    return time.time_ns() - stamp.changed_at > SETTLED_NS
