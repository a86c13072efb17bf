"""Cuts an answer that comes in pieces into text, tags and directives.

However the answer is split, the tokens say the same. What may still become a tag, a directive or a piece of
code is held back, and never more than a few hundred characters of it. Code is text, whatever stands in it:
a fenced block, or a span between backticks within one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

DirectiveKind = Literal["reply_to", "media", "audio_as_voice"]
CURRENT = "current"
"""The value of `[[reply_to_current]]`."""
THINKING_TAGS = ("thinking", "think", "thought", "antthinking")
FINAL_TAG = "final"

_LONGEST_SPAN = 400
_LONGEST_RUN = 20
_LONGEST_OPENING = 200
_LONGEST_VALUE = 1000


@dataclass(frozen=True)
class Text:
    """Words, or code."""

    text: str


@dataclass(frozen=True)
class Tag:
    """`<think>` or `<final>`, in one of its spellings. `empty`: it opens and closes at once."""

    name: Literal["think", "final"]
    opens: bool
    raw: str
    empty: bool = False


@dataclass(frozen=True)
class Directive:
    """Something in double brackets that speaks to the runtime."""

    kind: DirectiveKind
    value: str
    raw: str


Token = Text | Tag | Directive
_Step = tuple[Token, int] | None
"""A token and where it ends; None when more has to come first."""


def _beginnings(*words: str) -> str:
    """A pattern for every beginning of these words."""
    found = {word[:end] for word in words for end in range(1, len(word) + 1)}
    return "|".join(sorted(found, key=len, reverse=True))


_NAMES = "|".join((*THINKING_TAGS, FINAL_TAG))
_GAP = r"[ \t]{0,3}"
_OPEN = rf"<{_GAP}(/?){_GAP}"
_TAG = re.compile(
    rf"{_OPEN}({_NAMES})(?:[ \t]{{1,9}}[\w:-]{{1,30}}=[^<>\n]{{0,80}})?{_GAP}(/?)>", re.IGNORECASE
)
_TAG_BEGINS = re.compile(
    rf"{_OPEN}(?:(?:{_beginnings(*THINKING_TAGS, FINAL_TAG)})?"
    rf"|(?:{_NAMES})(?:[ \t]{{1,9}}[\w:-]{{0,30}}(?:=[^<>\n]{{0,80}})?)?{_GAP}/?)",
    re.IGNORECASE,
)
_VALUE = rf"(?:(?!\]\])[^\n]){{1,{_LONGEST_VALUE}}}"
_DIRECTIVE = re.compile(
    rf"\[\[{_GAP}(?:(reply_to_current)|(audio_as_voice)|(reply_to|media){_GAP}:({_VALUE})){_GAP}\]\]",
    re.IGNORECASE,
)
_DIRECTIVE_BEGINS = re.compile(
    rf"\[(?:\[{_GAP}(?:(?:{_beginnings('reply_to_current', 'audio_as_voice', 'media')})?"
    rf"|(?:reply_to_current|audio_as_voice){_GAP}\]?"
    rf"|(?:reply_to|media){_GAP}(?P<value>:(?:{_VALUE})?\]?)?))?",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[`<\[\n]")
_RUN = re.compile(rf"`{{1,{_LONGEST_RUN}}}")
_FENCE_BEGINS = re.compile(r" {0,3}[`~]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ANY_RUN = re.compile("`+")
_ENDS_SPAN = re.compile(r"[`\n]")
_ENDS_VALUE = re.compile(r"[\]\n]")


class AnswerLexer:
    """Takes an answer in pieces. The cost of a piece does not grow with the answer."""

    def __init__(self) -> None:
        self._held = ""
        self._line_begins = True
        self._fence = ""
        """The marks that began the block of code we are in."""
        self._settles: tuple[re.Pattern[str], int] | None = None
        """What must come, or how much, before what is held can be told."""

    def feed(self, piece: str) -> list[Token]:
        """The tokens that are certain now."""
        self._held += piece
        if self._settles is not None:
            pattern, most = self._settles
            if len(self._held) < most and not pattern.search(piece):
                return []
        return self._read(ended=False)

    def finish(self) -> list[Token]:
        """The rest, when nothing more comes."""
        return self._read(ended=True)

    def _read(self, *, ended: bool) -> list[Token]:
        self._settles = None
        text, at, found = self._held, 0, list[Token]()
        while at < len(text) and (step := self._step(text, at, ended)) is not None:
            found.append(step[0])
            at = step[1]
        self._held = text[at:]
        return list(_joined(found))

    def _step(self, text: str, at: int, ended: bool) -> _Step:
        if self._line_begins:
            line = text[at : at + _LONGEST_OPENING]
            whole = ended or "\n" in line or len(line) == _LONGEST_OPENING
            if not whole and self._may_be_fence(line):
                return None
            if self._is_fence(line.partition("\n")[0]):
                return self._turn_fence(line, at)
            self._line_begins = False
        return self._code(text, at) if self._fence else self._prose(text, at, ended)

    def _may_be_fence(self, line: str) -> bool:
        begins = _FENCE_BEGINS.match(line)
        return begins is not None and (begins.end() == len(line) or self._is_fence(line))

    def _is_fence(self, line: str) -> bool:
        """Whether this line begins a block of code, or ends the one we are in."""
        found = _FENCE.match(line)
        if found is None:
            return False
        marks, rest = found[1], line[found.end() :]
        if self._fence:
            return marks.startswith(self._fence) and not rest.strip()
        return marks[0] == "~" or "`" not in rest

    def _turn_fence(self, line: str, at: int) -> _Step:
        found = _FENCE.match(line)
        self._fence = "" if self._fence or found is None else found[1]
        end = line.find("\n") + 1 or len(line)
        self._line_begins = line[:end].endswith("\n")
        return Text(line[:end]), at + end

    def _code(self, text: str, at: int) -> _Step:
        end = text.find("\n", at) + 1 or len(text)
        self._line_begins = text[end - 1] == "\n"
        return Text(text[at:end]), end

    def _prose(self, text: str, at: int, ended: bool) -> _Step:
        found = _SPECIAL.search(text, at)
        if found is None:
            return Text(text[at:]), len(text)
        if found.start() > at:
            return Text(text[at : found.start()]), found.start()
        if found[0] == "\n":
            self._line_begins = True
            return Text("\n"), at + 1
        read = {"`": self._span, "<": self._tag, "[": self._directive}[found[0]]
        return read(text, at, ended)

    def _span(self, text: str, at: int, ended: bool) -> _Step:
        """A span of code, when the same number of backticks ends it in this line and not too far away."""
        run = _RUN.match(text, at)
        begins = run.end() if run else at + 1
        marks = begins - at
        if marks == _LONGEST_RUN or (ended and begins == len(text)):
            return Text(text[at:begins]), begins
        if begins == len(text):
            return None
        line = text.find("\n", begins, begins + _LONGEST_SPAN)
        last = line if line >= 0 else min(begins + _LONGEST_SPAN, len(text))
        known = ended or line >= 0 or begins + _LONGEST_SPAN <= len(text)
        for each in _ANY_RUN.finditer(text, begins, last):
            if each.end() == len(text) and not known:
                return None
            if len(each[0]) == marks:
                return Text(text[at : each.end()]), each.end()
        if known:
            return Text(text[at:begins]), begins
        self._settles = (_ENDS_SPAN, begins - at + _LONGEST_SPAN)
        return None

    def _tag(self, text: str, at: int, ended: bool) -> _Step:
        found = _TAG.match(text, at)
        if found is None:
            held = not ended and _TAG_BEGINS.fullmatch(text, at)
            return None if held else (Text("<"), at + 1)
        self._line_begins = True
        name: Literal["think", "final"] = "final" if found[2].lower() == FINAL_TAG else "think"
        return Tag(name, not found[1], found[0], bool(found[3])), found.end()

    def _directive(self, text: str, at: int, ended: bool) -> _Step:
        found = _DIRECTIVE.match(text, at)
        if found is not None:
            return _directive_of(found), found.end()
        begins = None if ended else _DIRECTIVE_BEGINS.fullmatch(text, at)
        if begins is None:
            return Text("["), at + 1
        if begins["value"] and not begins["value"].endswith("]"):
            self._settles = (_ENDS_VALUE, _LONGEST_VALUE)
        return None


def _directive_of(found: re.Match[str]) -> Directive:
    if found[1]:
        return Directive("reply_to", CURRENT, found[0])
    if found[2]:
        return Directive("audio_as_voice", "", found[0])
    kind: DirectiveKind = "media" if found[3].lower() == "media" else "reply_to"
    return Directive(kind, found[4].strip(), found[0])


def _joined(tokens: Iterable[Token]) -> Iterable[Token]:
    """With neighbouring texts as one."""
    texts: list[str] = []
    for token in tokens:
        if isinstance(token, Text):
            texts.append(token.text)
            continue
        if texts:
            yield Text("".join(texts))
            texts = []
        yield token
    if texts:
        yield Text("".join(texts))
