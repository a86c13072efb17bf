"""Parts what a model says into words for people, reasoning, and what only speaks to the runtime."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from colleague.agent.streaming.lexer import (
    FINAL_TAG,
    THINKING_TAGS,
    AnswerLexer,
    Directive,
    Tag,
    Text,
    Token,
)

_OPEN_FINAL = re.compile(rf"<\s*{FINAL_TAG}\s*>", re.IGNORECASE)
_CLOSED_THINKING = re.compile(rf"<\s*/\s*(?:{'|'.join(THINKING_TAGS)})\s*>", re.IGNORECASE)
_ANY_TAG = re.compile(rf"<\s*/?\s*(?:{'|'.join(THINKING_TAGS)}|{FINAL_TAG})\b[^<>\n]*>", re.IGNORECASE)


@dataclass(frozen=True)
class StrippedText:
    """What an answer says beyond what it said before. `void`: what was told as text so far is not to be
    shown, because a `<final>` has begun."""

    text: str = ""
    reasoning: str = ""
    void: bool = False


@dataclass(frozen=True)
class StrippedAnswer:
    """A whole answer. `reply_to` is `current` or the id of a message."""

    text: str
    reasoning: str = ""
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    as_voice: bool = False


@dataclass
class TagStripper:
    """Takes an answer in pieces. A `<think>` that is never closed hides the rest; if nothing else would be
    left, that rest is the answer. With a `<final>`, only what is inside of it is."""

    _lexer: AnswerLexer = field(default_factory=AnswerLexer)
    _depth: int = 0
    _inside: bool = False
    _has_final: bool = False
    _outside_text: list[str] = field(default_factory=list)
    """Words that stand in no `<final>`; all of them where there is none."""
    _final_text: list[str] = field(default_factory=list)
    _closed_thoughts: list[str] = field(default_factory=list)
    _open_thoughts: list[str] = field(default_factory=list)
    _unclosed: list[str] = field(default_factory=list)
    """What stands in the thinking that is open now, with its tags."""
    _is_rest: bool = False
    """Whether this is what another stripper found in thinking that was never closed."""
    _media: list[str] = field(default_factory=list)
    _reply_to: str | None = None
    _as_voice: bool = False
    _touched: bool = False
    _last: str = ""
    """The last character of the words that are told now."""
    _after_tag: bool = False
    _lead: str = ""
    """Space before the first word: it goes if something is stripped there."""

    def feed(self, piece: str) -> StrippedText:
        return self._take(self._lexer.feed(piece))

    def finish(self) -> StrippedAnswer:
        """The whole answer, when nothing more comes."""
        self._take(self._lexer.finish())
        final = "".join(self._final_text)
        text = final if final.strip() else "".join(self._outside_text)
        if self._depth and not text.strip():
            return self._left_open("".join(self._unclosed))
        return self._answer(text, "".join([*self._closed_thoughts, *self._open_thoughts]))

    def _left_open(self, unclosed: str) -> StrippedAnswer:
        """Nothing is left to show beside thinking that was never closed: the answer is somewhere in it."""
        thought = "".join(self._closed_thoughts)
        cut = _answer_begins(unclosed)
        if self._is_rest or not (cut or _OPEN_FINAL.match(unclosed)):
            return self._answer(_ANY_TAG.sub("", unclosed), thought)
        rest = TagStripper(_is_rest=True)
        rest.feed(unclosed[cut:])
        inner = rest.finish()
        self._media += inner.media
        self._reply_to, self._as_voice = inner.reply_to or self._reply_to, inner.as_voice or self._as_voice
        return self._answer(inner.text, f"{thought}{_ANY_TAG.sub('', unclosed[:cut])}{inner.reasoning}")

    def _answer(self, text: str, reasoning: str) -> StrippedAnswer:
        return StrippedAnswer(
            text.rstrip() if self._touched else text,
            reasoning.strip(),
            tuple(dict.fromkeys(self._media)),
            self._reply_to,
            self._as_voice,
        )

    def _take(self, tokens: list[Token]) -> StrippedText:
        words: list[str] = []
        thoughts: list[str] = []
        void = False
        for token in tokens:
            if isinstance(token, Tag) and token.name == "final" and not self._depth:
                if self._open_final(token):
                    void, words = True, []
            elif isinstance(token, Tag):
                self._think(token)
            elif self._depth:
                thoughts.append(self._thought(token))
            elif isinstance(token, Directive):
                self._obey(token)
            else:
                words.append(self._word(token))
        return StrippedText("".join(words), "".join(thoughts), void)

    def _open_final(self, tag: Tag) -> bool:
        """Whether the words told so far are void."""
        self._strip()
        self._inside = tag.opens and not tag.empty
        first = self._inside and not self._has_final
        self._has_final = self._has_final or self._inside
        if first:
            self._last, self._lead = "", ""
        return first and any(each.strip() for each in self._outside_text)

    def _think(self, tag: Tag) -> None:
        """A tag of thinking, or one inside of it."""
        if self._depth:
            self._unclosed.append(tag.raw)
        if tag.name == "final" or tag.empty:
            self._strip()
            return
        if tag.opens:
            self._depth += 1
        elif self._depth:
            self._depth -= 1
            self._close_thinking()
        self._strip()

    def _close_thinking(self) -> None:
        if not self._depth:
            self._closed_thoughts += [*self._open_thoughts, "\n"]
            self._open_thoughts, self._unclosed = [], []

    def _thought(self, token: Text | Directive) -> str:
        said = token.text if isinstance(token, Text) else token.raw
        self._unclosed.append(said)
        self._open_thoughts.append(said)
        return said

    def _obey(self, directive: Directive) -> None:
        self._strip()
        if directive.kind == "media" and directive.value:
            self._media.append(directive.value)
        elif directive.kind == "reply_to" and directive.value:
            self._reply_to = directive.value
        elif directive.kind == "audio_as_voice":
            self._as_voice = True

    def _strip(self) -> None:
        self._touched = self._after_tag = True
        self._lead = ""

    def _word(self, token: Text) -> str:
        """Words for people, without the space that stood around what was stripped."""
        shown = self._inside or not self._has_final
        said = self._from_first_word(self._without_gap(token.text)) if shown else token.text
        (self._final_text if self._inside else self._outside_text).append(said)
        if not shown:
            return ""
        self._last = said[-1:] or self._last
        return said

    def _from_first_word(self, text: str) -> str:
        if self._last:
            return text
        text, self._lead = self._lead + text, ""
        if text.strip():
            return text
        self._lead = text
        return ""

    def _without_gap(self, text: str) -> str:
        if not self._after_tag:
            return text
        space = {"": None, "\n": None, " ": " \t", "\t": " \t"}.get(self._last, "")
        said = text if space == "" else text.lstrip(space)
        self._after_tag = not said
        return said


def _answer_begins(unclosed: str) -> int:
    """Where the answer begins in thinking that was never closed; 0 when all of it is the answer."""
    if final := _OPEN_FINAL.search(unclosed):
        return final.start()
    ends = [each.end() for each in _CLOSED_THINKING.finditer(unclosed)]
    return ends[-1] if ends and unclosed[ends[-1] :].strip() else 0


def strip_tags(answer: str) -> StrippedAnswer:
    """A whole answer at once."""
    stripper = TagStripper()
    stripper.feed(answer)
    return stripper.finish()
