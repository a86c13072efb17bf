"""Answers that are meant for nobody: `NO_REPLY`, `HEARTBEAT_OK` after a regular check, and the words by which
agents that talk to each other say nothing more.

The words are taken off the beginning and the end of an answer, never out of a sentence."""

from __future__ import annotations

from dataclasses import dataclass

NO_REPLY = "NO_REPLY"
HEARTBEAT_OK = "HEARTBEAT_OK"
ACK_MAX_CHARS = 30
REPLY_SKIP, ANNOUNCE_SKIP = "REPLY_SKIP", "ANNOUNCE_SKIP"
_TOKENS = (NO_REPLY, HEARTBEAT_OK, REPLY_SKIP, ANNOUNCE_SKIP)
_AROUND = "*_`\"'()[]<>.,!: \t\r\n"
"""What models put around a word: markup, quotes and punctuation."""
_CONTEXT = 200
_LONGEST = 80
"""A longer line is no word, whatever stands around one in it. So no more than this is ever held back."""
_ENDS_SENTENCE = (".", "!", "?", ":")


@dataclass(frozen=True)
class ShownAnswer:
    """What people see of an answer. `token` is the word that was taken off, if any."""

    text: str
    token: str | None = None

    @property
    def silent(self) -> bool:
        """Whether nothing is to be shown because the agent said so; an empty answer alone is not silent."""
        return self.token is not None and not self.text


def shown_answer(answer: str) -> ShownAnswer:
    """What remains of an answer without the words that only speak to the runtime."""
    text, first = _without_first(answer)
    text, last = _without_last(text)
    return ShownAnswer(text, first or last)


def shown_heartbeat(answer: str, *, ack_max_chars: int = ACK_MAX_CHARS) -> ShownAnswer:
    """The same for the answer to a heartbeat: up to `ack_max_chars` characters beside `HEARTBEAT_OK` are
    dropped with it."""
    text = answer.strip(_AROUND)
    if text.startswith(HEARTBEAT_OK):
        text = text.removeprefix(HEARTBEAT_OK)
    elif text.endswith(HEARTBEAT_OK):
        text = text.removesuffix(HEARTBEAT_OK)
    else:
        return shown_answer(answer)
    rest = text.strip(_AROUND + "-–—")
    return ShownAnswer("" if len(rest) <= ack_max_chars else text.strip(), HEARTBEAT_OK)


def shown_so_far(answer: str) -> str:
    """The part of an unfinished answer that is shown whatever follows: a beginning of what will be shown."""
    body = answer.rstrip()
    line = body.rfind("\n") + 1
    word = max(body.rfind(each) for each in (" ", "\t", "\n")) + 1
    start = next((place for place in (line, word) if _may_be_token(body[place:])), len(body))
    return shown_answer(body[:start]).text.rstrip()


def _may_be_token(text: str) -> bool:
    """Whether it is a token, or may become one when more comes."""
    return len(text.strip()) <= _LONGEST and any(token.startswith(text.strip(_AROUND)) for token in _TOKENS)


class AnswerStream:
    """An answer while it comes: how much of it can be shown, at a cost that does not grow with it."""

    def __init__(self) -> None:
        self._begins = True
        self._tail = ""
        """What was not shown yet, after enough of what was to tell how a line or a sentence goes on."""
        self._shown = 0
        self._space: list[str] = []
        """Space that came since: it is shown with what follows it."""

    def add(self, piece: str) -> str:
        """What can be shown now, beyond what was shown before."""
        self._space.append(piece)
        if not piece or piece.isspace():
            return ""
        self._tail += "".join(self._space)
        self._space = []
        context = "" if self._begins else "x"
        visible = shown_so_far(context + self._tail)[len(context) :]
        fresh = visible[self._shown :]
        self._shown = max(self._shown, len(visible))
        if self._shown > 2 * _CONTEXT:
            cut = self._shown - _CONTEXT
            counted = _without_first(self._tail)[0] if self._begins else self._tail
            self._tail, self._shown, self._begins = counted[cut:], _CONTEXT, False
        return fresh


def _without_first(answer: str) -> tuple[str, str | None]:
    line, _, rest = answer.lstrip().partition("\n")
    token = _token(line)
    return (rest.lstrip(), token) if token else (answer, None)


def _without_last(answer: str) -> tuple[str, str | None]:
    """A last line, or a last word after the end of a sentence."""
    body = answer.rstrip()
    before, _, line = body.rpartition("\n")
    if token := _token(line):
        return before.rstrip(), token
    sentence, _, word = body.rpartition(" ")
    token = _token(word) if sentence.rstrip().endswith(_ENDS_SENTENCE) else None
    return (sentence.rstrip(), token) if token else (answer, None)


def _token(text: str) -> str | None:
    bare = text.strip(_AROUND) if len(text.strip()) <= _LONGEST else ""
    return next((token for token in _TOKENS if token == bare), None)
