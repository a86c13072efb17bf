"""Files of traces: lines are added whole, files have a size limit, only their owner reads them.

Several processes may write to one file: lines and rotations are made under a lock of the file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.files import private_folder

MOST_BYTES = 20_000_000
KEPT = 3
"""Older files beside the newest one, as `.1`, `.2`, `.3`."""


@dataclass(frozen=True)
class TraceFile:
    """One file, which begins with `header` when it has one."""

    path: Path
    most_bytes: int = MOST_BYTES
    kept: int = KEPT
    header: str = ""

    def append(self, line: str) -> None:
        """Adds one line. Raises OSError; what could be written of a line is taken back then."""
        data = f"{line}\n".encode(errors="backslashreplace")
        private_folder(self.path.parent)
        while not self._append(data):
            self._make_room(len(data))

    def _append(self, data: bytes) -> bool:
        """False when the file is full."""
        with _opened(self.path) as descriptor:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                _write_all(descriptor, data)
                return True
            if about.st_size and about.st_size + len(data) > self.most_bytes:
                return False
            _add(descriptor, about.st_size, self._beginning(descriptor, about.st_size) + data)
            return True

    def _beginning(self, descriptor: int, size: int) -> bytes:
        if not size:
            return f"{self.header}\n".encode() if self.header else b""
        half = os.pread(descriptor, 1, size - 1) != b"\n"
        return b"\n" if half else b""  # a crash left half a line

    def _make_room(self, needed: int) -> None:
        """Renames the files, unless another process has just done it."""
        with _opened(self.path) as descriptor:
            size = os.fstat(descriptor).st_size
            if not size or size + needed <= self.most_bytes:
                return
            for number in range(self.kept - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    self._older(number).replace(self._older(number + 1))
            if self.kept:
                self.path.replace(self._older(1))
            else:
                self.path.unlink()

    def _older(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file that has this name once it is locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if _locked(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _locked(descriptor: int, path: Path) -> bool:
    """False when the file was renamed while somebody else had the lock."""
    opened = os.fstat(descriptor)
    if not stat.S_ISREG(opened.st_mode):
        return True
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)


def _add(descriptor: int, size: int, data: bytes) -> None:
    try:
        _write_all(descriptor, data)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
