"""Looking at a SQLite database, copying it while it is in use, and putting a copy back."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.errors import ColleagueError
from colleague.files import private_folder, private_opener, sync_folder
from colleague.home import Home
from colleague.store.corruption import DatabaseDamaged, unreadable
from colleague.store.identity import CURE, SQLITE, known_identity, remember_identity
from colleague.store.migrate import migrations

BESIDE = ("", "-wal", "-shm")
"""The files of one database: itself, its log of changes, and the index of that."""


@dataclass(frozen=True)
class DatabaseCheck:
    """What was found; `problems` are sentences, none when all is well."""

    file: str
    version: int
    size: int
    wal_size: int
    problems: tuple[str, ...]
    identity: str = ""


def check_database(file: Path) -> DatabaseCheck:
    """Reads every page. Raises when there is nothing to read, and when it is no database of ours."""
    if not file.exists() or file.stat().st_size == 0:
        raise ColleagueError(f"{file} is {'empty' if file.exists() else 'not there'}", hint=CURE)
    try:
        with contextlib.closing(_reading(file)) as connection:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            version, identity = _version(connection), _identity(connection)
    except sqlite3.DatabaseError as error:
        raise unreadable(file, error) from None
    newest = migrations()[-1][0]
    found = [f"damaged: {each}" for each in problems if each != "ok"]
    if version > newest:
        found.append(f"it is of version {version}, this Colleague knows {newest}: update Colleague")
    open_to_others = [path.name for path in _files(file) if path.stat().st_mode & 0o077]
    if open_to_others:
        found.append(f"other users may read {', '.join(open_to_others)}: colleague doctor --fix")
    sizes = {path.name: path.stat().st_size for path in _files(file)}
    wal = sizes.get(f"{file.name}-wal", 0)
    return DatabaseCheck(str(file), version, sizes[file.name], wal, tuple(found), identity)


def check_home(home: Home) -> DatabaseCheck:
    """The database of a home, also whether it is the one that the home worked with."""
    checked = check_database(home.database_file)
    known = known_identity(home, SQLITE)
    if known is None or known == checked.identity:
        return checked
    other = f"it is not the database that this home worked with: {CURE}"
    return DatabaseCheck(**{**vars(checked), "problems": (*checked.problems, other)})


def back_up(file: Path, target: Path, *, force: bool) -> DatabaseCheck:
    """A copy of one moment, whatever goes on meanwhile; complete under its name or not there at all."""
    if target.is_dir():
        raise ColleagueError(f"{target} is a folder", hint="name a file in it")
    if target.exists() and not force:
        raise ColleagueError(f"{target} exists already", hint="name another file, or add --force")
    if target.exists() and target.samefile(file):
        raise ColleagueError(f"{target} is the database itself", hint="name another file")
    if not target.parent.is_dir():
        raise ColleagueError(f"there is no folder {target.parent}", hint="make it, then try again")
    if not file.exists() or file.stat().st_size == 0:
        raise ColleagueError(f"there is no database in {file}", hint="nothing has run in this home yet")
    with _copied(file, target) as copy:
        checked = check_database(copy)
        _refuse_damaged(checked, file)
        copy.replace(target)
    sync_folder(target.parent)
    return checked


def restore(home: Home, backup: Path) -> Path | None:
    """Puts a checked copy in place; returns where the database before it lies now. Needs the home's lock."""
    if not backup.is_file():
        raise ColleagueError(f"there is no file {backup}", hint="name a file that colleague db backup made")
    try:
        checked = check_database(backup)
        _refuse_damaged(checked, backup)
    except DatabaseDamaged as error:
        raise ColleagueError(error.message, hint="nothing was changed; name another copy") from None
    if checked.version == 0 or checked.version > migrations()[-1][0]:
        raise ColleagueError(
            f"{backup} is no database of this Colleague (version {checked.version})",
            hint="name a file that colleague db backup made, or update Colleague",
        )
    private_folder(home.state)
    with _copied(backup, home.database_file) as copy:
        aside = set_aside(home)
        copy.replace(home.database_file)
    sync_folder(home.state)
    remember_identity(home, SQLITE, checked.identity or None)
    return aside


def set_aside(home: Home) -> Path | None:
    """Renames the present database, with its WAL, so that it can still be opened there; None without one."""
    file = home.database_file
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = file.with_name(f"{file.name}.{stamp}-{os.urandom(2).hex()}")
    moved = [ending for ending in BESIDE if file.with_name(file.name + ending).exists()]
    for ending in moved:
        file.with_name(file.name + ending).rename(aside.with_name(aside.name + ending))
    sync_folder(home.state)
    return aside if "" in moved else None


def _refuse_damaged(checked: DatabaseCheck, file: Path) -> None:
    damaged = [each for each in checked.problems if each.startswith("damaged: ")]
    if damaged:
        raise DatabaseDamaged(file, damaged[0].removeprefix("damaged: "))


@contextlib.contextmanager
def _copied(file: Path, beside: Path) -> Iterator[Path]:
    """A copy in one file, on the disk, under a name that nobody looks for; gone afterwards unless renamed."""
    copy = beside.with_name(f".{beside.name}.{os.urandom(6).hex()}.new")
    try:
        os.close(private_opener(str(copy), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            with (
                contextlib.closing(_reading(file)) as source,
                contextlib.closing(sqlite3.connect(copy)) as to,
            ):
                source.backup(to)
                to.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.DatabaseError as error:
            raise unreadable(file, error) from None
        descriptor = os.open(copy, os.O_RDWR)
        os.fsync(descriptor)
        os.close(descriptor)
        yield copy
    finally:
        for ending in (*BESIDE, "-journal"):
            copy.with_name(copy.name + ending).unlink(missing_ok=True)


def _reading(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=30)


def _version(connection: sqlite3.Connection) -> int:
    if not _has_table(connection, "schema_version"):
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])


def _identity(connection: sqlite3.Connection) -> str:
    if not _has_table(connection, "database_identity"):
        return ""
    found = connection.execute("SELECT id FROM database_identity").fetchone()
    return str(found[0]) if found else ""


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _files(file: Path) -> list[Path]:
    found = (file.with_name(file.name + ending) for ending in BESIDE)
    return [path for path in found if path.exists()]
