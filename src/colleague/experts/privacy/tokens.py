"""A text as words that compare equal however they are written, each with its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from colleague.experts.privacy.normalize import FILLER, decoded, folded
from colleague.experts.privacy.numbers import CURRENCIES, value_of

MARK = "[private]"

_SCRIPTS_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_OTHER_LETTERS = (
    "\u0080-\u0dff\u0f00-\u0fff\u10a0-\u177f\u1800-\u303f\u3100-\u33ff\u4dc0-\u4dff\ua000-\uf8ff"
    "\ufb00-\U0001ffff"
)


@dataclass(frozen=True)
class TokenizedText:
    """The words of a text in one way of reading it. `view` has the length of the text."""

    view: str
    matched: list[str]
    """As they stand in the view."""
    written: list[str]
    """Without case, accents and what cannot be seen: `1,200`."""
    words: tuple[str, ...]
    """As they are compared: `1200`."""

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each word begins and ends in the text.

        No word can begin between two words, so each is the next place where its characters stand."""
        found: list[tuple[int, int]] = []
        end = 0
        for word in self.matched:
            start = self.view.find(word, end)
            end = start + len(word)
            found.append((start, end))
        return found

    def gap(self, index: int) -> str:
        """What stands between a word and the one before it."""
        return self.view[self.spans[index - 1][1] if index else 0 : self.spans[index][0]]

    def place(self, first: int, end: int) -> slice:
        """Where the words from `first` up to `end` stand in the text."""
        return slice(self.spans[first][0], self.spans[end - 1][1])


def tokenized_texts(text: str) -> Iterator[TokenizedText]:
    """The text as it stands and, where it differs, with JSON and URL escapes read."""
    yield _tokenized(folded(text))
    read = decoded(text)
    if read != text:
        yield _tokenized(folded(read))


def _tokenized(view: str) -> TokenizedText:
    matched = _pattern(view.isascii()).findall(view)
    clean = _Clean()
    written = matched if view.isascii() else [clean[word] for word in matched]
    words = tuple([word if word.isalnum() else value_of(word) for word in written])
    return TokenizedText(view, matched, written, words)


class _Clean(dict[str, str]):
    """Words without fillers, and with what only a whole word can be folded to."""

    def __missing__(self, word: str) -> str:
        seen = word.replace(FILLER, "")
        self[word] = seen if seen.isascii() else unicodedata.normalize("NFKC", seen).casefold()
        return self[word]


@lru_cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    """What a word is: our mark, an id, a date, a number, letters and digits, one character of some scripts.

    Each way begins with a single character or class where it can, so that most of them fail at once."""
    letter = "[a-z0-9]" if ascii_only else f"[a-z0-9{_OTHER_LETTERS}]"
    first = "[a-z0-9]" if ascii_only else f"(?!{FILLER})[a-z0-9{_OTHER_LETTERS}]"
    wide = "" if ascii_only else f"|[{_SCRIPTS_WITHOUT_SPACES}]{FILLER}*+"
    ways = (
        re.escape(MARK),
        rf"[0-9a-f][0-9a-f]{{7}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}(?!{letter})",
        rf"[0-9](?:{_after_digit(letter, '' if ascii_only else f'{FILLER}*+')})",
        rf"(?:{CURRENCIES})(?=[0-9][0-9.,']*k?(?!{letter}))",
        rf"{first}{letter}*+{wide}",
    )
    return re.compile("|".join(ways))


def _after_digit(letter: str, filler: str) -> str:
    """What makes a date, a number with signs in it or the number before a currency of a first digit."""
    digit = f"(?:[0-9]{filler})"
    time = r"t[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:z|[+-][0-9]{2}:?[0-9]{2})?"
    grouped = rf"{filler}{digit}{{0,2}}(?:[,']{{1,6}}{digit}{{3}}){{1,4}}(?:\.{digit}++)?(?![,']?[0-9])"
    pointed = rf"{filler}{digit}{{0,2}}(?:\.{{1,6}}{digit}{{3}}){{1,4}}(?:,{digit}++)?(?![.,]?[0-9])"
    # Not possessive as a whole: Python before 3.11.5 would take a point that no digit follows for a part.
    points = rf"(?:\.{{1,6}}{digit}++)+(?!\.{{1,6}}[0-9])"
    decimal = rf"{filler}{digit}*+(?:{points}|,{{1,6}}{digit}{{1,2}}(?!,?[0-9]))"
    date = rf"[0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}(?:{time})?"
    before_currency = rf"(?=(?:{CURRENCIES})(?!{letter}))"
    return (
        rf"{date}(?!{letter})|(?:{grouped}|{pointed}|{decimal})k?(?:(?!{letter})|{before_currency})"
        rf"|{filler}{digit}*+k?{before_currency}"
    )
