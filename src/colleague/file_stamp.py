"""Whether a file is still the one that was looked at, without reading it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class FileStamp(NamedTuple):
    """The time of the last change of any kind cannot be set from outside, so an edit is always seen."""

    inode: int
    size: int
    changed_at: int
    written_at: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        return cls(status.st_ino, status.st_size, status.st_ctime_ns, status.st_mtime_ns)


def file_stamp(file: Path) -> FileStamp | None:
    """Of what a link leads to; None when there is nothing."""
    try:
        return FileStamp.of(file.stat())
    except OSError:
        return None
