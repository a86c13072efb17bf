"""Values that no summary may change: ids, paths, addresses, amounts. They are kept word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from colleague.agent.context.tokens import text_tokens

Origin = Literal["person", "agent", "call", "result"]
PEOPLE = "Word for word, from people:"
OTHERS = "Exact values:"
_WORTH: dict[Origin, int] = {"person": 3, "agent": 2, "call": 1, "result": 0}
LONGEST = 200
LONGEST_WORD = 2 * LONGEST
LONGEST_LINE = 240
MOST_READ = 200_000
"""Characters of one text that are looked through: the beginning and the end of a longer one."""
_HINT = re.compile(r"[\d/@]")
_CURRENCIES = frozenset(
    ["EUR", "USD", "GBP", "CHF", "JPY", "€", "%", "Euro", "euro", "euros", "dollar", "dollars"]
)
_VALUE = re.compile(
    r"""
      [A-Za-z][A-Za-z0-9+.-]*://[^\s<>"'`)\]}]+                                      # an address on the web
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                                    # of a person
    | (?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+=-]+){2,}/?                                   # a path from a root
    | (?<![\w/])[\w.@+-]+(?:/[\w.@+=-]+)*/[\w@+=-]+\.[A-Za-z0-9]{1,8}(?![\w/])        # a path of a file
    | (?<![\w-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\w-])         # a UUID
    | (?:[$€£¥]|\b(?:EUR|USD|GBP|CHF|JPY)\s?)-?\d[\d.,'\u00a0]*\d|(?:[$€£¥])\d        # an amount
    | (?<![\w.,])-?\d[\d.,']*\d?\s?(?:€|%|\b(?:EUR|USD|GBP|CHF|JPY|euros?|dollars?|Euro)\b)
    | (?<!\w)\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?(?!\w)                 # a date
    | (?<!\w)\#\d+(?!\w)                                                              # a number of something
    | (?<![\w-])(?=[\w.-]*\d)[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)+(?![\w-])      # INV-2024-0017, v1.2.3
    | (?<![\w.,])\d[\d.,']{3,}\d(?![\w])                                              # a long number
    | (?<!\w)(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{6,64}(?!\w)        # a hash, an id
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class SaidText:
    """A text of the transcript, and whose it is."""

    origin: Origin
    text: str


def values_in(text: str) -> list[str]:
    """Each once, in the order in which they come."""
    found = (
        match[0].rstrip(".,;:'") for piece in _pieces(_readable(text)) for match in _VALUE.finditer(piece)
    )
    return [*dict.fromkeys(each for each in found if 1 < len(each) <= LONGEST)]


def _pieces(text: str) -> Iterator[str]:
    """Words that may be such a value, each with the currency beside it. The pattern is slow on long words and
    on many, and every value has one of these signs in it."""
    words = text.split()
    for index, word in enumerate(words):
        if len(word) > LONGEST_WORD or not _HINT.search(word):
            continue
        before = words[index - 1] if index and words[index - 1] in _CURRENCIES else ""
        after = words[index + 1].rstrip(".,;:!?)") if index + 1 < len(words) else ""
        yield " ".join(filter(None, (before, word, after if after in _CURRENCIES else "")))


def _readable(text: str) -> str:
    return text if len(text) <= MOST_READ else f"{text[: MOST_READ // 2]}\n{text[-MOST_READ // 2 :]}"


@dataclass(frozen=True)
class Literals:
    """Lines to be kept: of people, and values that only agents and tools have written."""

    people: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        groups = ((PEOPLE, self.people), (OTHERS, self.others))
        return "\n\n".join("\n".join([title, *lines]) for title, lines in groups if lines)

    @classmethod
    def after(cls, text: str) -> tuple[str, Literals]:
        """A summary without the literals at its end, and those."""
        text, _, others = text.partition(f"\n\n{OTHERS}\n")
        text, _, people = text.partition(f"\n\n{PEOPLE}\n")
        return text, cls(tuple(people.splitlines()), tuple(others.splitlines()))


def literals_of(said: Iterable[SaidText], summary: str, before: Literals, most_tokens: int) -> Literals:
    """What the summary leaves out: lines of people that have such a value, and the values of all others.

    When there is too much, values of results go first, then those of calls, of the agent, of people; and of
    each those in the middle."""
    wanted: dict[str, int] = dict.fromkeys((line for line in before.others if line not in summary), 0)
    wanted |= dict.fromkeys((line for line in before.people if line not in summary), _WORTH["person"])
    for each in said:
        for line in _lines(each, summary):
            wanted[line] = max(_WORTH[each.origin], wanted.get(line, 0))
    kept, left = set[str](), most_tokens
    for worth in sorted(_WORTH.values(), reverse=True):
        for line in _from_both_ends([line for line, each in wanted.items() if each == worth]):
            left -= text_tokens(line) + 2
            if left < 0:
                break
            kept.add(line)
    people = _WORTH["person"]
    return Literals(
        tuple(line for line in wanted if line in kept and wanted[line] == people),
        tuple(line for line in wanted if line in kept and wanted[line] < people),
    )


def _from_both_ends(lines: list[str]) -> Iterator[str]:
    """The last, the first, the last but one, the second: what is left out then is in the middle."""
    first, last = 0, len(lines) - 1
    while first <= last:
        yield lines[last]
        if first < last:
            yield lines[first]
        first, last = first + 1, last - 1


def _lines(said: SaidText, summary: str) -> Iterator[str]:
    if said.origin != "person":
        yield from (value for value in values_in(said.text) if value not in summary)
        return
    for line in said.text.splitlines():
        values = [value for value in values_in(line) if value not in summary]
        if values and len(line) <= LONGEST_LINE:
            yield line.strip()
        else:
            yield from values
