"""One open folder. Every step goes through its descriptor and follows no link, so nothing can be swapped."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from colleague.agent.tools.path import MissingPath, PathError, composed, escaped, is_temporary, join
from colleague.file_stamp import FileStamp

Kind = Literal["file", "folder", "link", "special"]

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class TreeEntry:
    """Something in a folder. `size` and `stamp` are those of a file."""

    path: str
    kind: Kind
    size: int = 0
    stamp: FileStamp | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class OpenFolder:
    """An open folder and its path in the tree. Whoever opened it closes it."""

    descriptor: int
    path: str

    def close(self) -> None:
        os.close(self.descriptor)

    def entry(self, name: str) -> TreeEntry | None:
        """The entry of exactly this name."""
        try:
            status = self.status(name)
        except FileNotFoundError:
            return None
        kind, path = _kind(status.st_mode), join(self.path, name)
        if kind != "file":
            return TreeEntry(path, kind)
        return TreeEntry(path, kind, status.st_size, FileStamp.of(status))

    def status(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def status_if_there(self, name: str) -> os.stat_result | None:
        try:
            return self.status(name)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        return os.listdir(self.descriptor)  # noqa: PTH208 - a Path is no descriptor

    def entries(self) -> list[TreeEntry]:
        """All that is here, by name."""
        names = sorted(name for name in self.names() if not is_temporary(name))
        found = [self.entry(name) for name in names]
        return [entry for entry in found if entry is not None]

    def spelled(self, name: str) -> str | None:
        """The name as on disk: exactly this, or the only one that differs in how accents are written."""
        names = self.names()
        if name in names:
            return name
        same = [each for each in names if composed(each) == composed(name)]
        return same[0] if len(same) == 1 else None

    def required(self, name: str) -> str:
        """The same, where it has to be there."""
        actual = self.spelled(name)
        if actual is None:
            raise MissingPath(join(self.path, name), self.path, name)
        return actual

    def step(self, name: str, *, create: bool, exact: bool) -> OpenFolder:
        """A folder in this one, made when it may be; `exact` for a name that was read off the disk."""
        if create and self.spelled(name) is None:
            self.check_new(composed(name))
            self.make_folder(composed(name))
        return self.open_folder(name if exact else self.required(name))

    def open_folder(self, name: str) -> OpenFolder:
        """A folder in this one; `name` as it is on disk."""
        path = join(self.path, name)
        self._check(name, path, "folder")
        try:
            return OpenFolder(os.open(name, FOLDER_FLAGS, dir_fd=self.descriptor), path)
        except FileNotFoundError:
            raise MissingPath(path, self.path, name) from None
        except OSError as error:
            raise PathError(f"{escaped(path)} cannot be opened: {error.strerror}.") from error

    def open_file(self, name: str) -> int:
        """A descriptor to read a plain file with. A pipe or device is not even opened."""
        path = join(self.path, name)
        self._check(name, path, "file")
        try:
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise MissingPath(path, self.path, name) from None
        except OSError as error:
            raise PathError(f"{escaped(path)} cannot be opened: {error.strerror}.") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PathError(f"{escaped(path)} changed while it was being opened. Try again.")
        return descriptor

    def read(self, name: str, most: int) -> tuple[bytes, FileStamp]:
        """A plain file's bytes, unless there are more than `most`."""
        with os.fdopen(self.open_file(name), "rb") as file:
            stamp = FileStamp.of(os.fstat(file.fileno()))
            data = file.read(most + 1)
        if len(data) > most:
            raise PathError(
                f"{escaped(join(self.path, name))} has {stamp.size:,} bytes; {most:,} is the most that can "
                "be read here."
            )
        return data, stamp

    def make_folder(self, name: str) -> None:
        """A new folder, that survives a power cut; fine when it is there by now."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=self.descriptor)
            os.fsync(self.descriptor)

    def check_new(self, name: str) -> None:
        """Refuses a name that differs from an existing one in nothing but capitals."""
        for each in self.names():
            if each != name and composed(each).casefold() == composed(name).casefold():
                raise PathError(
                    f"There is already {escaped(join(self.path, each))}, which differs from "
                    f"{escaped(name)} only in capitals. Use that name, or another one."
                )

    def _check(self, name: str, path: str, wanted: Kind) -> None:
        entry = self.entry(name)
        if entry is None:
            raise MissingPath(path, self.path, name)
        if entry.kind != wanted:
            raise PathError(_MISTAKES[entry.kind].format(path=escaped(path)))


def open_real(real: Path, path: str, *, create: bool, through_link: bool = False) -> OpenFolder | None:
    """A folder of the disk as `path` of the tree; None when it does not exist."""
    if create:
        real.mkdir(parents=True, exist_ok=True)
    try:
        return OpenFolder(
            os.open(real, FOLDER_FLAGS & ~os.O_NOFOLLOW if through_link else FOLDER_FLAGS), path
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        what = "it is a link or not a folder" if isinstance(error, NotADirectoryError) else error.strerror
        raise PathError(f"{escaped(path) or 'The top folder'} cannot be opened: {what}.") from error


_MISTAKES: dict[Kind, str] = {
    "file": "{path} is a file, not a folder. Read it.",
    "folder": "{path} is a folder, not a file. List it with ls.",
    "link": "{path} is a link, and links are not followed here. Use the path of the file itself.",
    "special": "{path} is a pipe, socket or device, not a plain file. It cannot be used.",
}


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "special"
