"""Regular expressions an operator writes, matched in linear time: no text can make one hang.

A pattern becomes steps that are all followed at once, so there is nothing to go back to. What needs going
back (references to groups, looking ahead) is refused when the pattern is read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_LENGTH = 200
MAX_TEXT = 4000

_MOST_PARTS = 300
_FLAGS = re.compile(r"\(\?[ims]+\)")
_TOKEN = re.compile(
    r"(?P<open>\((?:\?:|\?P<\w+>|(?!\?)))"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<repeat>(?:[*+?]|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\})\??)"
    r"|(?P<anchor>[\^$]|\\[AZbB])"
    r"|(?P<one>\[\^?\]?(?:[^\]\\]|\\.)*\]|\\x..|\\u.{4}|\\U.{8}|\\N\{[^}]*\}|\\[^0-9]|[^\\()])",
    re.DOTALL,
)


class _Step(NamedTuple):
    """`test` is for one character, or for a place when it is an anchor; without one the step is free."""

    test: re.Pattern[str] | None
    anchor: bool
    to: tuple[int, ...]


@dataclass(frozen=True)
class Pattern:
    """A pattern that is known to be readable."""

    text: str
    _steps: tuple[_Step, ...] = field(repr=False, compare=False)
    _first: int = field(repr=False, compare=False)

    def found_in(self, text: str) -> bool:
        """Whether it occurs somewhere in the first 4,000 characters of `text`."""
        text = text[:MAX_TEXT]
        active: set[int] = set()
        for place in range(len(text) + 1):
            active = self._reached({*active, self._first}, text, place)
            if 0 in active:
                return True
            active = {self._steps[number].to[0] for number in self._passing(active, text, place)}
        return False

    def _reached(self, active: set[int], text: str, place: int) -> set[int]:
        """These steps, and all that can be reached from them without a character."""
        waiting = list(active)
        while waiting:
            test, anchor, to = self._steps[waiting.pop()]
            if test is None or (anchor and test.match(text, place)):
                new = [number for number in to if number not in active]
                active.update(new)
                waiting += new
        return active

    def _passing(self, active: set[int], text: str, place: int) -> Iterator[int]:
        """The steps whose character stands at `place`; each kind of character is looked at once."""
        seen: dict[re.Pattern[str], bool] = {}
        for number in active:
            test, anchor, _ = self._steps[number]
            if test is None or anchor:
                continue
            if test not in seen:
                seen[test] = test.match(text, place) is not None
            if seen[test]:
                yield number


def parse_pattern(text: str) -> Pattern:
    """Raises ValueError, with a sentence for the operator, when `text` is no pattern that can be used."""
    if not 0 < len(text) <= MAX_LENGTH:
        raise ValueError(f"a pattern has 1 to {MAX_LENGTH} characters, found {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        raise ValueError(f"{text[:60]!r} is no regular expression: {error}") from None
    flags = _FLAGS.match(text)
    start = flags.end() if flags else 0
    return _Compiler(text, text[:start]).compiled(_Reader(text, start).either())


class _Leaf(NamedTuple):
    text: str
    anchor: bool


class _Row(NamedTuple):
    parts: tuple[_Part, ...]


class _Either(NamedTuple):
    choices: tuple[_Part, ...]


class _Repeat(NamedTuple):
    part: _Part
    least: int
    most: int | None


_Part = _Leaf | _Row | _Either | _Repeat


class _Reader:
    """The parts of a text that is known to be a regular expression."""

    def __init__(self, text: str, start: int) -> None:
        self._tokens = list(_tokens(text, start))
        self._next = 0

    def either(self) -> _Part:
        choices = [self._row()]
        while self._take("bar"):
            choices.append(self._row())
        return _Either(tuple(choices)) if len(choices) > 1 else choices[0]

    def _row(self) -> _Part:
        parts: list[_Part] = []
        while token := self._take("open", "one", "anchor", "repeat"):
            kind, text = token
            if kind == "open":
                parts.append(self.either())
                self._take("close")
            elif kind == "repeat":
                parts.append(_Repeat(parts.pop(), *_bounds(text)))
            else:
                parts.append(_Leaf(text, kind == "anchor"))
        return parts[0] if len(parts) == 1 else _Row(tuple(parts))

    def _take(self, *kinds: str) -> tuple[str, str] | None:
        if self._next < len(self._tokens) and self._tokens[self._next][0] in kinds:
            self._next += 1
            return self._tokens[self._next - 1]
        return None


def _tokens(text: str, start: int) -> Iterator[tuple[str, str]]:
    before = ""
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None or (match.lastgroup == before == "repeat"):
            raise ValueError(
                f"{text[start : start + 20]!r} cannot be used in a pattern: there are no references to "
                "groups, no looking ahead or back, no a*+, and flags only at the beginning"
            )
        before, start = str(match.lastgroup), match.end()
        yield before, match[0]


def _bounds(text: str) -> tuple[int, int | None]:
    if text[0] != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[text[0]]
    least, comma, most = text.strip("{}?").partition(",")
    return int(least or 0), (int(most) if most else None) if comma else int(least)


class _Compiler:
    """Makes the steps from the last to the first: each part is told which step comes after it."""

    def __init__(self, text: str, flags: str) -> None:
        self._text, self._flags = text, flags
        self._steps = [_Step(None, False, ())]
        self._parts = 0

    def compiled(self, part: _Part) -> Pattern:
        first = self._add(part, 0)
        return Pattern(self._text, tuple(self._steps), first)

    def _add(self, part: _Part, after: int) -> int:
        """The step with which `part` begins."""
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise ValueError(f"{self._text[:60]!r} repeats too much; use smaller numbers in {{}}")
        match part:
            case _Leaf(text, anchor):
                return self._step(after, test=re.compile(self._flags + text), anchor=anchor)
            case _Either(choices):
                return self._step(*[self._add(choice, after) for choice in choices])
            case _Row(parts):
                for each in reversed(parts):
                    after = self._add(each, after)
                return after
            case _Repeat():
                return self._add_repeat(part, after)

    def _add_repeat(self, repeat: _Repeat, after: int) -> int:
        first = after
        if repeat.most is None:
            first = self._step()
            self._steps[first] = _Step(None, False, (self._add(repeat.part, first), after))
        for _ in range((repeat.most or repeat.least) - repeat.least):
            first = self._step(self._add(repeat.part, first), after)
        for _ in range(repeat.least):
            first = self._add(repeat.part, first)
        return first

    def _step(self, *to: int, test: re.Pattern[str] | None = None, anchor: bool = False) -> int:
        self._steps.append(_Step(test, anchor, to))
        return len(self._steps) - 1
