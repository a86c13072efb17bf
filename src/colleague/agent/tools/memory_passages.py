"""A Markdown text in passages that can be found: each with its lines and the headings it stands under."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 1_500
_MOST_IN_HEADING = 200
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(?=\S)")
_CODE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True)
class Passage:
    """Lines `first` to `last` of a file, counted from 1."""

    first: int
    last: int
    heading: str
    text: str


def passages(text: str) -> Iterator[Passage]:
    """A passage ends before a heading and when it is full. A line that is longer than that is cut."""
    headings: dict[int, str] = {}
    collected = _Collected(1)
    code = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        code = _code_after(code, line)
        if not code and (found := _HEADING.match(line)):
            yield from collected.passages(headings)
            collected = _Collected(number)
            _note_heading(headings, len(found[1]), line[found.end() :])
        elif collected.size + len(line) > MOST_CHARACTERS:
            yield from collected.passages(headings)
            collected = _Collected(number)
        collected.add(line)
    yield from collected.passages(headings)


class _Collected:
    """The lines of the passage that is being read."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._lines: list[str] = []
        self.size = 0

    def add(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r"))
        self.size += len(line) + 1

    def passages(self, headings: dict[int, str]) -> Iterator[Passage]:
        """Nothing when there is no word in it; several when a single line is too long."""
        text = "\n".join(self._lines).rstrip()
        last = self._first + text.count("\n")
        where = " > ".join(title for _, title in sorted(headings.items()))[:_MOST_IN_HEADING]
        for start in range(0, len(text), 2 * MOST_CHARACTERS):
            part = text[start : start + 2 * MOST_CHARACTERS]
            if part.strip():
                yield Passage(self._first, last, where, part)


def _code_after(code: str, line: str) -> str:
    """The fence of the block of code that goes on after this line; none outside of one."""
    found = _CODE.match(line)
    if found is None:
        return code
    return "" if code == found[1] else code or found[1]


def _note_heading(headings: dict[int, str], level: int, title: str) -> None:
    for deeper in [each for each in headings if each >= level]:
        del headings[deeper]
    headings[level] = title[:_MOST_IN_HEADING].strip().rstrip("#").strip()
