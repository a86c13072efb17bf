"""Which errors of SQLite mean that the database cannot be used now, in a sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from colleague.errors import DatabaseUnavailable
from colleague.store.corruption import DatabaseDamaged, is_damage

_ROOM = "make room on the disk that holds it, or look at what is wrong with that disk"
_OTHERS = "end the other program that uses it"
_ACCESS = "check that the file and its folder can be written"
_HINTS = {
    sqlite3.SQLITE_FULL: _ROOM,
    sqlite3.SQLITE_IOERR: _ROOM,
    sqlite3.SQLITE_BUSY: _OTHERS,
    sqlite3.SQLITE_LOCKED: _OTHERS,
    sqlite3.SQLITE_CANTOPEN: _ACCESS,
    sqlite3.SQLITE_READONLY: _ACCESS,
    sqlite3.SQLITE_NOMEM: "give this process more memory",
}


def as_unavailable(error: BaseException, file: Path) -> BaseException:
    """The error to raise: DatabaseUnavailable for trouble of the surroundings, DatabaseDamaged for a file
    that cannot be read, else the same error."""
    code = getattr(error, "sqlite_errorcode", None)
    if is_damage(error):
        return DatabaseDamaged(file, error)
    hint = _HINTS.get(code & 0xFF) if isinstance(code, int) else None
    if hint is None:
        return error
    found = DatabaseUnavailable(f"the database {file} cannot be used: {error}", hint=hint)
    found.__cause__ = error
    return found
