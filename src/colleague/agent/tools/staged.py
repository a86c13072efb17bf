"""New text beside its file, on disk but not yet in its place."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading

from colleague.agent.tools.folder import OpenFolder
from colleague.agent.tools.path import TEMPORARY_ENDING, TEMPORARY_PREFIX
from colleague.failpoints import failpoint
from colleague.file_stamp import FileStamp

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Staged:
    """Takes over the folder it is given, and closes it.

    A file has one temporary name, so what a crash leaves behind is cleared by the next write. Whoever
    stages holds the file's lock."""

    def __init__(self, folder: OpenFolder, name: str, data: bytes) -> None:
        self._folder = folder
        self._name = name
        self._temporary = temporary_name(name)
        self._busy = threading.Lock()
        self._closed = False
        try:
            self._write(data)
        except BaseException:
            self.close()
            raise

    def put(self, before: FileStamp | None) -> bool:
        """Renames the text into its place; False when the file is no longer the one that was read."""
        with self._busy:
            if self._closed or self._stamp() != before:
                return False
            failpoint("file.rename.before")
            folder = self._folder.descriptor
            os.rename(self._temporary, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
            failpoint("file.rename.after")
            return True

    def close(self) -> None:
        """Clears what was not put into its place. A put that goes on in another thread ends first."""
        with self._busy:
            self._closed = True
            remove_temporary(self._folder, self._name)
            self._folder.close()

    def _write(self, data: bytes) -> None:
        remove_temporary(self._folder, self._name)
        descriptor = os.open(self._temporary, _NEW_FILE, 0o600, dir_fd=self._folder.descriptor)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), self._mode())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _mode(self) -> int:
        """An existing file keeps its mode."""
        with contextlib.suppress(FileNotFoundError):
            status = self._folder.status(self._name)
            if stat.S_ISREG(status.st_mode):
                return stat.S_IMODE(status.st_mode) & 0o777
        return 0o644

    def _stamp(self) -> FileStamp | None:
        try:
            return FileStamp.of(self._folder.status(self._name))
        except FileNotFoundError:
            return None


def temporary_name(name: str) -> str:
    return f"{TEMPORARY_PREFIX}{hashlib.sha256(name.encode()).hexdigest()[:16]}{TEMPORARY_ENDING}"


def remove_temporary(folder: OpenFolder, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary_name(name), dir_fd=folder.descriptor)
