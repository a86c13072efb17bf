"""A part of a text that fits into an answer, and how to read on."""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHARACTERS = 40_000
MOST_LINES = 2_000

_KINDS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or office document",
    b"\x1f\x8b": "a gzip archive",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


@dataclass(frozen=True)
class TextPage:
    """Characters `first` to `last` of a text of `size`; `shown` is what the model gets."""

    shown: str
    first: int
    last: int
    size: int


def kind_of(data: bytes) -> str:
    """What a file is that is not text; nothing for text."""
    for start, kind in _KINDS.items():
        if data.startswith(start):
            return kind
    return "a binary file" if b"\0" in data else ""


def count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def page(
    text: str,
    *,
    line: int = 1,
    column: int = 1,
    limit: int = MOST_LINES,
    numbered: bool = False,
    most: int = MOST_CHARACTERS,
    argument: str = "offset",
) -> TextPage:
    """From a line (and a column of it) on, as many lines as are asked for and fit into `most` characters.
    Both count from 1. `argument` is how the tool calls the line to read on from."""
    start = min(_start_of(text, line - 1, 0) + column - 1, len(text))
    end = _start_of(text, limit, start)
    if end - start > most:
        end = start + most
        end = text.rfind("\n", start, end) + 1 or end
    body = text[start:end].removeprefix("\ufeff").replace("\r\n", "\n")
    if numbered:
        body = _numbered(body, line)
    return TextPage(body + _notes(text, start, end, argument), start, end, len(text))


def _start_of(text: str, lines: int, start: int) -> int:
    """Where the text goes on after so many line ends."""
    for _ in range(lines):
        found = text.find("\n", start)
        if found < 0:
            return len(text)
        start = found + 1
    return start


def _numbered(body: str, line: int) -> str:
    lines = body.removesuffix("\n").split("\n")
    return "\n".join(f"{number:>6}  {each}" for number, each in enumerate(lines, line)) + "\n"


def _notes(text: str, start: int, end: int, argument: str) -> str:
    notes = []
    if not text:
        notes.append("the file is empty")
    if "\ufffd" in text[start:end]:
        notes.append("bytes that are not UTF-8 are shown as \ufffd")
    if end < len(text):
        notes.append(_read_on(text, start, end, argument))
    lead = "" if text[start:end].endswith("\n") or start == end else "\n"
    return lead + "\n".join(f"[{note}]" for note in notes) if notes else ""


def _read_on(text: str, start: int, end: int, argument: str) -> str:
    first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, end - 1) + 1
    at = f"{argument}={text.count(chr(10), 0, end) + 1}"
    if text[end - 1] != "\n":
        at += f", column={end - text.rfind(chr(10), 0, end)}"
    return f"lines {first} to {last} of {count_lines(text)} shown; read on with {at}"
