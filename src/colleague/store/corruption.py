"""A damaged SQLite file, as one sentence."""

from __future__ import annotations

from pathlib import Path

from colleague.errors import ColleagueError

_DAMAGED = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB."""


class DatabaseDamaged(ColleagueError):
    """The file of the database cannot be read any more."""

    def __init__(self, file: Path, why: object) -> None:
        hint = "stop the gateway; see colleague db check, then put a copy back: colleague db restore FILE"
        super().__init__(f"the database {file} is damaged: {why}", hint=hint)


def is_damage(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def unreadable(file: Path, error: Exception) -> ColleagueError:
    """What is wrong with a file that SQLite does not read: it need not be damaged."""
    if is_damage(error):
        return DatabaseDamaged(file, error)
    hint = "its folder must be writable, and the disks must have room; nothing was changed"
    return ColleagueError(f"the database {file} cannot be read: {error}", hint=hint)
