"""Cuts an answer that comes in pieces into blocks, each of which can be sent as a message of its own.

However the answer is split, the blocks are the same. A block ends at a paragraph, a line or a sentence. It
never ends inside a word, unless the word alone is longer than a block. It never ends inside of code, unless
the code is longer than a block: then the code is closed in one block and begun again in the next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from colleague.code_fences import Line, fence_of, lines_of

BreakPreference = Literal["paragraph", "newline", "sentence"]
_WORD, _SENTENCE, _NEWLINE, _PARAGRAPH = 0, 1, 2, 3
_RANKS = {"paragraph": _PARAGRAPH, "newline": _NEWLINE, "sentence": _SENTENCE}
_LEAST_CODE = 10
_NO_BEGINNING = "\n`~"
"""A block that began with a mark of code could turn its words into code."""
_SPACE = re.compile(r"[ \t]+")
_ENDS_SENTENCE = re.compile(r"[.!?…]['\")\]*_]*$")


@dataclass(frozen=True)
class BlockChunking:
    """A block is sent at the first good place after `min_chars`, and has at most `max_chars`."""

    min_chars: int = 200
    max_chars: int = 1200
    break_preference: BreakPreference = "paragraph"

    @property
    def least(self) -> int:
        return min(self.min_chars, self.max_chars)

    @property
    def joint(self) -> str:
        """What stands between two blocks that are joined."""
        return {"paragraph": "\n\n", "newline": "\n", "sentence": " "}[self.break_preference]


@dataclass(frozen=True)
class _Spot:
    """A place where a block may end."""

    at: int
    rank: int


@dataclass(frozen=True)
class _Cut:
    block: str
    rest: str


class BlockChunker:
    """Takes an answer in pieces. The cost of a piece does not grow with the answer."""

    def __init__(self, chunking: BlockChunking) -> None:
        self._chunking = chunking
        self.rest = ""
        """What is in no block yet."""

    def add(self, piece: str) -> list[str]:
        """The blocks that are finished now."""
        self.rest = (self.rest + piece).lstrip("\n") if not self.rest else self.rest + piece
        if "\n" not in piece and not self._may_end(piece):
            return []
        return self._cut_off()

    def finish(self) -> list[str]:
        """What is left, when nothing more comes."""
        found = self._cut_off()
        rest, self.rest = self.rest, ""
        return found if _is_empty(rest) else [*found, rest.rstrip()]

    def _may_end(self, piece: str) -> bool:
        sentence = self._chunking.break_preference == "sentence" and _SPACE.search(piece)
        return bool(sentence) or len(self.rest) > self._chunking.max_chars

    def _cut_off(self) -> list[str]:
        found = []
        while (cut := _first_cut(self.rest, self._chunking)) is not None:
            self.rest = cut.rest
            if not _is_empty(cut.block):
                found.append(cut.block)
        return found


def blocks_of(text: str, chunking: BlockChunking) -> list[str]:
    """A whole text in blocks."""
    chunker = BlockChunker(chunking)
    return [*chunker.add(text), *chunker.finish()]


def _first_cut(rest: str, chunking: BlockChunking) -> _Cut | None:
    """The first block of a text; None when more has to come first. What comes later changes nothing."""
    least, most = chunking.least, chunking.max_chars
    seen = rest[: most + 1]
    lines = list(lines_of(seen))
    spots = [spot for spot in _spots(seen, lines) if spot.at <= most]
    wanted = _RANKS[chunking.break_preference]
    first = next((spot for spot in spots if spot.rank >= wanted and spot.at >= least), None)
    if first is not None:
        return _at(rest, first.at)
    return _forced_cut(rest, lines, spots, chunking) if len(rest) > most else None


def _forced_cut(rest: str, lines: Sequence[Line], spots: Sequence[_Spot], chunking: BlockChunking) -> _Cut:
    """A block has grown too long: the last of the best places, else the last one before the code, else the
    code is parted, else the word is."""
    long_enough = [spot for spot in spots if spot.at >= chunking.least]
    for rank in (_PARAGRAPH, _NEWLINE, _SENTENCE, _WORD):
        if found := [spot for spot in long_enough if spot.rank >= rank]:
            return _at(rest, found[-1].at)
    if spots:
        return _at(rest, spots[-1].at)
    return _parted_code(rest, lines, chunking.max_chars) or _Cut(
        rest[: chunking.max_chars], rest[chunking.max_chars :]
    )


def _spots(text: str, lines: Sequence[Line]) -> Iterator[_Spot]:
    """Where a block may end, in order: nowhere inside of code."""
    for line, follows in zip(lines, [*lines[1:], None], strict=False):
        if line.fence is None:
            yield from _spots_inside(text, line)
        ended = text[line.end - 1] == "\n" and (line.fence is None or line.closes)
        if ended and not _is_blank(text, line):
            apart = follows is not None and text[follows.end - 1] == "\n" and _is_blank(text, follows)
            yield _Spot(line.end - 1, _PARAGRAPH if apart else _NEWLINE)


def _is_blank(text: str, line: Line) -> bool:
    return not text[line.start : line.end].strip()


def _spots_inside(text: str, line: Line) -> Iterator[_Spot]:
    """Between two words."""
    for space in _SPACE.finditer(text, line.start, line.end):
        before = text[max(line.start, space.start() - 8) : space.start()]
        if before.strip() and space.end() < line.end and text[space.end()] not in _NO_BEGINNING:
            yield _Spot(space.start(), _SENTENCE if _ENDS_SENTENCE.search(before) else _WORD)


def _at(text: str, place: int) -> _Cut:
    """Space at the place goes; the indentation of the next line stays."""
    rest = text[place:]
    return _Cut(text[:place].rstrip(), rest.lstrip("\n") if rest.startswith("\n") else rest.lstrip(" \t"))


def _parted_code(text: str, lines: Sequence[Line], most: int) -> _Cut | None:
    """Closes code and begins it again; None when there is no code, or a block has no room for that."""
    fence = lines[-1].fence
    if fence is None:
        return None
    begins = next(each.end for each in lines if each.fence is fence)
    room = most - len(fence.closing)
    if room < max(begins, len(fence.opening)) + _LEAST_CODE:
        return None
    line, word = text.rfind("\n", begins, room), text.rfind(" ", begins, room)
    place = line if line > begins else word if word > begins else room
    rest = text[place + 1 :] if text[place] in "\n " else text[place:]
    return _Cut(text[:place] + fence.closing, fence.opening + rest)


def _is_empty(block: str) -> bool:
    """Whether it says nothing: blank, or code that was closed and begun again around nothing."""
    return all(not line.strip() or fence_of(line) for line in block.splitlines())
