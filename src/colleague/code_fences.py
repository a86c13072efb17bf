"""Fenced code in a text that is read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LONGEST_INFO = 40


@dataclass(frozen=True)
class CodeFence:
    """The line that began a block of code."""

    marks: str
    info: str

    @property
    def opening(self) -> str:
        return f"{self.marks}{self.info[:_LONGEST_INFO].rstrip()}\n"

    @property
    def closing(self) -> str:
        return f"\n{self.marks}"

    def is_closed_by(self, line: str) -> bool:
        found = _FENCE.match(line)
        return found is not None and found[1].startswith(self.marks) and not found[2].strip()


def fence_of(line: str) -> CodeFence | None:
    """The block of code that a line begins."""
    found = _FENCE.match(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return None
    return CodeFence(found[1], found[2])


@dataclass(frozen=True)
class Line:
    """A line with its place. `fence` is the block of code that it belongs to, also as its first or last."""

    start: int
    end: int
    fence: CodeFence | None
    closes: bool = False


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a text; the last one may be unfinished."""
    at, fence = 0, None
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        line = text[at:end].rstrip("\n")
        closes = fence is not None and fence.is_closed_by(line)
        fence = fence or fence_of(line)
        yield Line(at, end, fence, closes)
        fence = None if closes else fence
        at = end
