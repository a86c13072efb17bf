"""Paths as a model writes them: relative, forward, and never out of the tree."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from colleague.errors import ColleagueError

MOST_BYTES_IN_A_NAME = 255
MOST_BYTES = 2_000
MOST_NAMES = 40

TEMPORARY_PREFIX = ".colleague-"
TEMPORARY_ENDING = ".new"

_UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
_TURNS_THE_TEXT = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class PathError(ColleagueError):
    """A path cannot be used as asked."""


class MissingPath(PathError):
    """There is nothing at a path. `folder` is the deepest one that exists, `name` what it lacks."""

    def __init__(self, path: str, folder: str, name: str) -> None:
        super().__init__(f"There is no {escaped(path)}.")
        self.path = path
        self.folder = folder
        self.name = name


def split(path: str) -> tuple[str, ...]:
    """The names along a path, without `.` and doubled slashes."""
    _check_characters(path)
    if path.startswith("/"):
        raise PathError(f"{escaped(path)} is absolute. Paths begin in the tree; list its top with ls.")
    if path.startswith("~"):
        raise PathError(f"{escaped(path)} begins with ~, which means nothing here. Paths begin in the tree.")
    if "\\" in path:
        raise PathError(f"{escaped(path)} has a backslash. Write / between folders.")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    for name in names:
        _check_name(path, name)
    if len(names) > MOST_NAMES:
        raise PathError(f"{escaped(path)} goes {len(names)} folders deep; {MOST_NAMES} is the most.")
    return names


def is_outside(path: object) -> bool:
    """Whether a path begins outside of the tree: at the root of the disk, or in the user's home."""
    return isinstance(path, str) and path.startswith(("/", "~/"))


def split_outside(path: str) -> tuple[str, ...]:
    """The names along such a path, from the root of the disk."""
    return split((str(Path.home()) + path[1:] if path.startswith("~") else path).lstrip("/"))


def join(folder: str, name: str) -> str:
    return f"{folder.removesuffix('/')}/{name}" if folder else name


def composed(name: str) -> str:
    """The one spelling of a name whose accents can be written in two ways."""
    return unicodedata.normalize("NFC", name)


def is_temporary(name: str) -> bool:
    """Whether a name is one that a write in progress uses."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_ENDING)


def escaped(path: str) -> str:
    """A path for a sentence: what cannot be printed is escaped, and what is long is cut."""
    cut = path if len(path) <= 120 else f"{path[:100]}... ({len(path)} characters)"
    return "".join(each if _is_plain(each) else each.encode("unicode_escape").decode() for each in cut)


def _is_plain(character: str) -> bool:
    return unicodedata.category(character) not in _UNPRINTABLE and character not in _TURNS_THE_TEXT


def _check_characters(path: str) -> None:
    if not all(map(_is_plain, path)):
        raise PathError(f"{escaped(path)} has a character that cannot be printed. Name the file without it.")
    if len(path.encode()) > MOST_BYTES:
        raise PathError(f"{escaped(path)} is too long: {MOST_BYTES} bytes is the most.")


def _check_name(path: str, name: str) -> None:
    if name == "..":
        raise PathError(f"{escaped(path)} has a .. in it. Write the path from the top of the tree.")
    looks_like = unicodedata.normalize("NFKC", name)
    if looks_like in (".", "..") or "/" in looks_like or "\\" in looks_like:
        raise PathError(
            f"{escaped(path)} has a character that only looks like a dot or slash. Type a plain one."
        )
    if len(name.encode()) > MOST_BYTES_IN_A_NAME:
        raise PathError(f"{escaped(name)} is too long a name: {MOST_BYTES_IN_A_NAME} bytes is the most.")
    if is_temporary(name):
        raise PathError(f"{escaped(name)} is a name that is kept for writes in progress. Choose another.")
