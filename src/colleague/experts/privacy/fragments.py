"""What in a private text is private: its runs of words, its short lines, its codes, addresses and sums."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from colleague.experts.privacy.numbers import CURRENCIES, Amount, amounts, groups_of
from colleague.experts.privacy.tokens import MARK, TokenizedText, tokenized_texts

OpeningMessages = tuple[str, ...]

_RUN_WORDS = 4
_LONGEST = 8
"""A passage of more words is known by every stretch of this many."""
_SHORTEST_CELL = 8
_SHORTEST_CODE = 6
_TELLING_PART = 4
"""A code with a mixed part of this length is known without its hyphens, too: `CANARY 7f3a`."""

_IN_WORD = re.compile(r"[-_'.@]?")
_IN_CELL = re.compile(r"[^\n|]*")
_IN_CODE = re.compile(r"[-_]*")
_IN_EMAIL = re.compile(r"[-_.+%&@]+")
_IN_URL = re.compile(r"[^\s<>()\[\]{}\"`|]+")
_MONEY_BEFORE = re.compile(rf"(?:\$|(?<![a-z0-9])(?:{CURRENCIES}))\s{{0,3}}\Z")
_MONEY_AFTER = re.compile(rf"\s{{0,3}}(?:\$|(?:{CURRENCIES}|euros?|dollars?|pounds?|francs?)(?![a-z0-9]))")


class PassageKind(IntEnum):
    """Where the words of a passage count. When a passage has two kinds, the broader one is kept."""

    ANYWHERE = 0
    GLUED = 1
    """Without a space between them, as in a code or a URL."""
    SPACED = 2
    """With one space between them, as in `1 200`."""
    CAPITAL = 3
    """Not in small letters: what is a name in capitals may be an ordinary word otherwise."""

    def fits(self, text: str, tokenized: TokenizedText, first: int, end: int) -> bool:
        """Whether the words from `first` up to `end` stand as they should."""
        if self is PassageKind.ANYWHERE:
            return True
        if self is PassageKind.CAPITAL:
            written = text[tokenized.place(first, end)]
            return written != written.lower()
        gaps = [tokenized.gap(index) for index in range(first + 1, end)]
        if self is PassageKind.SPACED:
            return all(gap == " " for gap in gaps)
        return not any(char.isspace() for gap in gaps for char in gap)


@dataclass(frozen=True)
class Passages:
    """Passages by their words, and the values of the sums among them."""

    kinds: dict[OpeningMessages, PassageKind]
    values: set[str]


def passages_of(texts: Iterable[str]) -> Passages:
    """Everything private in the bodies of private files."""
    kinds: dict[OpeningMessages, PassageKind] = {}
    values: set[str] = set()
    for text in texts:
        for tokenized in tokenized_texts(text):
            for words, kind in _Source(text, tokenized).passages():
                kinds[words] = min(kind, kinds.get(words, kind))
            values.update(value for _, value in sums_in(tokenized))
            values.update(_spaced_sums(tokenized))
    for groups in map(groups_of, values):
        if 1 < len(groups) <= _LONGEST:
            kinds.setdefault(groups, PassageKind.SPACED)
    for words in [words for words in kinds if MARK in words]:
        del kinds[words]
    return Passages(kinds, values)


def sums_in(tokenized: TokenizedText, among: Container[str] | None = None) -> Iterator[tuple[int, str]]:
    """The numbers that tell something, by the place of their word: three digits, a decimal part or money."""
    numbers = {word: _meanings(word, among) for word in set(tokenized.written) if word[0] <= "9"}
    known = {word for word, found in numbers.items() if found}
    for index in [at for at, word in enumerate(tokenized.written) if word in known] if known else ():
        for amount in numbers[tokenized.written[index]]:
            if _tells(amount, tokenized, index):
                yield index, amount.value


def _meanings(word: str, among: Container[str] | None) -> Sequence[Amount]:
    if among is None:
        return amounts(word)
    if word.isdigit() and word.lstrip("0") not in among:
        return ()
    return [each for each in amounts(word) if each.value in among]


def _tells(amount: Amount, tokenized: TokenizedText, index: int) -> bool:
    return not _ends_a_name(tokenized, index) and (amount.telling or _is_money(tokenized, index))


def _ends_a_name(tokenized: TokenizedText, index: int) -> bool:
    """As 300 does in `T-300`, though not in `200-300`."""
    return index > 0 and tokenized.gap(index) in ("-", "_") and not amounts(tokenized.written[index - 1])


def _is_money(tokenized: TokenizedText, index: int) -> bool:
    start, end = tokenized.spans[index]
    before, after = tokenized.view[max(0, start - 8) : start], tokenized.view[end : end + 12]
    return bool(_MONEY_BEFORE.search(before) or _MONEY_AFTER.match(after))


def _spaced_sums(tokenized: TokenizedText) -> Iterator[str]:
    """`1 200` is 1200."""
    digits = [index for index, word in enumerate(tokenized.words) if len(word) <= 3 and word.isdigit()]
    whole, last = "", -1
    for index in digits:
        word = tokenized.words[index]
        if whole and index == last + 1 and len(word) == 3 and tokenized.gap(index) == " ":
            whole = (whole + word)[: 3 * _LONGEST]
            yield whole
        else:
            whole = "" if word[0] == "0" else word
        last = index


@dataclass(frozen=True)
class _Source:
    """A private text, read."""

    text: str
    tokenized: TokenizedText

    @cached_property
    def gaps(self) -> list[str]:
        """What stands before each word."""
        return [self.tokenized.gap(index) for index in range(len(self.tokenized.words))]

    def chains(self, between: re.Pattern[str]) -> list[tuple[int, int]]:
        """The longest stretches of words with nothing but `between` between them."""
        joins = {gap for gap in set(self.gaps) if between.fullmatch(gap)}
        breaks = [index for index, gap in enumerate(self.gaps) if not index or gap not in joins]
        return list(zip(breaks, [*breaks[1:], len(self.gaps)], strict=False))

    def written(self, first: int, end: int) -> str:
        return self.text[self.tokenized.place(first, end)]

    def passages(self) -> Iterator[tuple[OpeningMessages, PassageKind]]:
        for words in self._runs():
            yield words, PassageKind.ANYWHERE
        for find in (self._cells, self._codes, self._emails, self._urls):
            for words, kind in find():
                for first in range(max(1, len(words) - _LONGEST + 1)):
                    yield words[first : first + _LONGEST], kind

    def _runs(self) -> Iterator[OpeningMessages]:
        """From each word on as many as make four; what a hyphen joins is one of them."""
        words = self.tokenized.words
        begins = [end for _, end in self.chains(_IN_WORD)]
        following = 0
        for first in range(len(words)):
            following += begins[following] <= first
            fourth = following + _RUN_WORDS - 1
            end = min(begins[fourth] if fourth < len(begins) else len(words) + 1, first + _LONGEST)
            if end <= len(words):
                yield words[first:end]

    def _cells(self) -> Iterator[tuple[OpeningMessages, PassageKind]]:
        """Lines and cells of tables, also those that are too short to hold a run."""
        for begin, end in self.chains(_IN_CELL):
            first = begin + self._is_numbering(begin, end)
            words = self.tokenized.words[first:end]
            if len(words) > _LONGEST or len(" ".join(words)) < _SHORTEST_CELL:
                continue
            name = len(words) == 1 and words[0].isalpha() and not self.written(first, end).islower()
            yield words, PassageKind.CAPITAL if name else PassageKind.ANYWHERE

    def _is_numbering(self, first: int, end: int) -> bool:
        numbered = self.tokenized.words[first].isdigit() and first + 1 < end
        return numbered and self.gaps[first + 1].startswith((". ", ") "))

    def _codes(self) -> Iterator[tuple[OpeningMessages, PassageKind]]:
        for first, end in self.chains(_IN_CODE):
            written = self.written(first, end)
            if len(written) < _SHORTEST_CODE:
                continue
            words = self.tokenized.words[first:end]
            if not all(map(str.isalpha, words)):
                yield from _codes_of(words)
            elif written.isupper() and sum(map(str.isalpha, written)) >= _SHORTEST_CODE:
                yield words, PassageKind.CAPITAL

    def _emails(self) -> Iterator[tuple[OpeningMessages, PassageKind]]:
        for first, end in self.chains(_IN_EMAIL) if "@" in self.tokenized.view else ():
            if any("@" in gap for gap in self.gaps[first + 1 : end]):
                yield self.tokenized.words[first:end], PassageKind.GLUED

    def _urls(self) -> Iterator[tuple[OpeningMessages, PassageKind]]:
        words = self.tokenized.words
        for first, end in self.chains(_IN_URL):
            begin = next((at for at in range(first, end - 1) if self._begins_url(at)), end)
            host = begin + 2 if words[begin + 1 : begin + 2] == ("www",) else begin + 1
            if begin < end:
                yield words[host if end - host > 1 else begin : end], PassageKind.GLUED

    def _begins_url(self, index: int) -> bool:
        gap = self.gaps[index + 1]
        return gap.startswith("://") or (self.tokenized.words[index] == "www" and gap == ".")


def _codes_of(words: OpeningMessages) -> Iterator[tuple[OpeningMessages, PassageKind]]:
    """A code, the same without its hyphens, and those of its parts that are codes by themselves."""
    mixed = [word for word in words if _is_mixed(word)]
    if mixed or _is_numbered(words):
        yield (
            words,
            PassageKind.ANYWHERE if any(len(word) >= _TELLING_PART for word in mixed) else PassageKind.GLUED,
        )
        if any(map(str.isalpha, words)):
            yield ("".join(words),), PassageKind.GLUED
    for word in mixed:
        if len(word) >= _SHORTEST_CODE:
            yield (word,), PassageKind.GLUED


def _is_mixed(word: str) -> bool:
    return word.isalnum() and not word.isalpha() and not word.isdigit()


def _is_numbered(words: OpeningMessages) -> bool:
    """A number with a hyphen, an underscore or points in it: `30-day`, `2031-05-01`, `10.0.0.12`."""
    return len(words) > 1 or not (words[0].isalnum() or amounts(words[0]) or words[0] == MARK)
