"""Reading a text file of a person, whatever is found in its place: it never hangs and never raises."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1_000_000
"""A longer file is read at its beginning and its end only."""
PART_BYTES = 400_000
_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISFIFO, "it is a pipe"),
)
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True)
class TextFile:
    """What was read. `problem` says in words what a person should mend; with it `text` may be empty."""

    text: str = ""
    tail: str = ""
    """The end of a file that is too long to be read whole; `unread` bytes are before it."""
    unread: int = 0
    problem: str = ""

    @property
    def chars(self) -> int:
        """Characters of the whole file; an estimate when it was not read whole."""
        return len(self.text) + self.unread + len(self.tail)


def read_text_file(file: Path) -> TextFile | None:
    """None when there is nothing."""
    try:
        if problem := _kind_problem(file.stat().st_mode):
            return TextFile(problem=problem)
        # not blocking: what was a file a moment ago may be a pipe now
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return TextFile(problem=f"it cannot be read: {error.strerror}")
    try:
        return _read(descriptor)
    except OSError as error:
        return TextFile(problem=f"it cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)


def _kind_problem(mode: int) -> str:
    if stat.S_ISREG(mode):
        return ""
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "it is no file with text")


def _read(descriptor: int) -> TextFile:
    status = os.fstat(descriptor)
    if problem := _kind_problem(status.st_mode):
        return TextFile(problem=problem)
    if status.st_size <= MOST_BYTES:
        return _decoded(os.pread(descriptor, MOST_BYTES, 0))
    head = os.pread(descriptor, PART_BYTES, 0)
    tail = os.pread(descriptor, PART_BYTES, status.st_size - PART_BYTES)
    return _decoded(head, tail, status.st_size - 2 * PART_BYTES)


def _decoded(head: bytes, tail: bytes = b"", unread: int = 0) -> TextFile:
    encoding = _UTF_16.get(head[:2], "utf-8")
    if encoding == "utf-8" and b"\0" in head:
        return TextFile(problem="it is no UTF-8 text; save it as UTF-8")
    text = head.decode(encoding, "replace").removeprefix("\ufeff")
    end = tail.decode(encoding, "ignore")
    return TextFile(text, end, unread, _encoding_problem(encoding, text, whole=not tail))


def _encoding_problem(encoding: str, text: str, *, whole: bool) -> str:
    if encoding != "utf-8":
        return "it is UTF-16; save it as UTF-8"
    broken = "\ufffd" in (text if whole else text[:-1])
    return "it has bytes that are no UTF-8, shown as \ufffd; save it as UTF-8" if broken else ""
