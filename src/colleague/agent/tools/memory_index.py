"""A full-text index of an agent's memory: derived from the files, brought up to date before every search.

It is a file of its own, so that several processes share it and none reads everything again. It may be deleted
at any time; one that is broken is made anew, and without one the search works in the process's memory."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from colleague.agent.tools.folder import TreeEntry
from colleague.agent.tools.memory_files import MemoryFiles, MemoryList
from colleague.agent.tools.memory_passages import Passage, passages
from colleague.agent.tools.page import kind_of
from colleague.agent.tools.path import MissingPath, PathError, escaped
from colleague.file_cache import is_settled
from colleague.file_stamp import FileStamp
from colleague.files import private_folder

log = logging.getLogger(__name__)

VERSION = 1
BATCH = 200
"""Files written in one commit: others wait for no more than that."""
BUSY_SECONDS = 5.0
MOST_WORDS = 32
SHORTEST_PREFIX = 4

_IN_MEMORY = ":memory:"
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, inode, size, changed_at, written_at,"
    " problem TEXT NOT NULL, first_row INTEGER NOT NULL, last_row INTEGER NOT NULL)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(path, first_line UNINDEXED, last_line UNINDEXED,"
    " heading, body, tokenize = 'porter unicode61 remove_diacritics 2')",
)
_FIND = (
    "SELECT path, first_line, last_line, heading, body FROM passages WHERE passages MATCH ?"
    " ORDER BY bm25(passages, 1.0, 0.0, 0.0, 3.0, 1.0), rowid LIMIT ?"
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts that are written without spaces between words."""
_SEPARATOR = "\u200b"
_UNSETTLED = FileStamp(0, 0, 0, 0)


@dataclass(frozen=True)
class Hit:
    """A passage that was found, and its file."""

    path: str
    passage: Passage


@dataclass(frozen=True)
class MemoryHits:
    """The best passages first. `notes` say what was not searched; `files` is how many there are."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...]
    files: int


class MemoryIndex:
    """The index of one memory, in one file. Used from threads; each search has a connection of its own."""

    def __init__(self, file: Path, memory: Callable[[], MemoryFiles]) -> None:
        self._file = file
        self._memory = memory

    def search(self, words: Sequence[str], limit: int) -> MemoryHits:
        """Passages with any of the words, those with more and rarer ones first."""
        try:
            return self._search(str(self._file), words, limit)
        except sqlite3.OperationalError as error:
            log.warning("the memory index cannot be used, and memory is searched without it: %s", error)
        except sqlite3.DatabaseError as error:
            log.warning("the memory index is broken and is made anew: %s", error)
            self._remove()
        return self._search(_IN_MEMORY, words, limit)

    def _remove(self) -> None:
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self._file.with_name(self._file.name + ending).unlink()

    def _search(self, place: str, words: Sequence[str], limit: int) -> MemoryHits:
        with contextlib.closing(_opened(place)) as connection:
            files = self._memory().listed()
            self._refresh(connection, files)
            rows = connection.execute(_FIND, (match_text(words), limit)).fetchall()
            problems = connection.execute("SELECT problem FROM files WHERE problem != '' ORDER BY path")
            notes = (*files.notes, *(text for (text,) in problems))
        return MemoryHits(tuple(map(_hit, rows)), notes, len(files.entries))

    def _refresh(self, connection: sqlite3.Connection, files: MemoryList) -> None:
        """Reads what is new or changed, and forgets what is gone."""
        rows = connection.execute("SELECT path, inode, size, changed_at, written_at FROM files")
        known = {path: FileStamp(*stamp) for path, *stamp in rows}
        changed = iter([each for each in files.entries if known.get(each.path) != each.stamp])
        gone = known.keys() - {each.path for each in files.entries}
        if gone:
            with _writing(connection):
                for path in gone:
                    _forget(connection, path)
        while batch := list(islice(changed, BATCH)):
            with _writing(connection):
                for entry in batch:
                    self._read(connection, entry)

    def _read(self, connection: sqlite3.Connection, entry: TreeEntry) -> None:
        _forget(connection, entry.path)
        stamp, problem, text = entry.stamp or _UNSETTLED, "", ""
        try:
            content = self._memory().read(entry.path)
        except MissingPath:
            return
        except (PathError, OSError) as error:
            problem = str(error).rstrip(".")
        else:
            stamp, kind = content.stamp, kind_of(content.data)
            problem = f"{escaped(entry.path)} is {kind}; save it as UTF-8 text" if kind else ""
            text = "" if kind else content.data.decode("utf-8", "replace")
        first, last = _insert(connection, entry.path, text)
        kept = stamp if is_settled(stamp) else _UNSETTLED
        connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (entry.path, *kept, problem, first, last)
        )


def match_text(words: Sequence[str]) -> str:
    """An FTS5 query. Every word is quoted, so that nothing in it is taken for an operator."""
    return " OR ".join(_quoted(word) for word in words[:MOST_WORDS])


def _quoted(word: str) -> str:
    """The word, and longer ones that begin with it; the word itself counts twice."""
    quoted = f'"{_separated(word).replace(chr(34), chr(34) * 2)}"'
    is_beginning = len(word) >= SHORTEST_PREFIX and not _UNSPACED.search(word)
    return f"{quoted} OR {quoted}*" if is_beginning else quoted


def _separated(text: str) -> str:
    """With a mark, which nobody sees, around every letter of a script without spaces: each is a word."""
    return _UNSPACED.sub(rf"{_SEPARATOR}\g<0>{_SEPARATOR}", text.replace(_SEPARATOR, ""))


def _hit(row: tuple[str, int, int, str, str]) -> Hit:
    path, first, last, heading, body = row
    plain = (text.replace(_SEPARATOR, "") for text in (heading, body))
    return Hit(path.replace(_SEPARATOR, ""), Passage(first, last, *plain))


def _opened(place: str) -> sqlite3.Connection:
    if place != _IN_MEMORY:
        private_folder(Path(place).parent)
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        for statement in _SCHEMA:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _forget(connection: sqlite3.Connection, path: str) -> None:
    rows = connection.execute("DELETE FROM files WHERE path = ? RETURNING first_row, last_row", (path,))
    for first, last in rows.fetchall():
        connection.execute("DELETE FROM passages WHERE rowid BETWEEN ? AND ?", (first, last))


def _insert(connection: sqlite3.Connection, path: str, text: str) -> tuple[int, int]:
    """The rows of a file are next to each other: only one process writes at a time."""
    highest = connection.execute("SELECT rowid FROM passages ORDER BY rowid DESC LIMIT 1").fetchone()
    top = highest[0] if highest else 0
    rows = [
        (
            top + number,
            _separated(path),
            each.first,
            each.last,
            _separated(each.heading),
            _separated(each.text),
        )
        for number, each in enumerate(passages(text), 1)
    ]
    connection.executemany(
        "INSERT INTO passages (rowid, path, first_line, last_line, heading, body) VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )
    return top + 1, top + len(rows)
