"""A model's answer as people are told it: stripped of tags, and silent where it is meant for nobody."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from colleague.agent.models.delta import Delta, TextDelta, ThinkingDelta
from colleague.agent.streaming.tag_stripper import StrippedText, TagStripper, strip_tags
from colleague.silent_answer import AnswerStream, shown_answer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

    from colleague.hooks.runner import TextChange


@dataclass(frozen=True)
class ModelAnswer:
    """What people see of an answer, and what it says beside that."""

    text: str
    reasoning: str = ""
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    as_voice: bool = False
    token: str | None = None
    """`NO_REPLY` or `HEARTBEAT_OK`, when the answer had it; it is not in the text."""
    narrative: str = ""
    """The text with that word, as the run keeps it."""

    @property
    def is_silent(self) -> bool:
        """Whether the agent chose to say nothing."""
        return self.token is not None and self.is_empty

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.text and not self.media


def read_answer(text: str, thinking: str = "") -> ModelAnswer:
    """A whole answer. `thinking` is what the model thought apart from its text."""
    stripped = strip_tags(text)
    shown = shown_answer(stripped.text)
    return ModelAnswer(
        shown.text,
        _paragraphs(thinking.strip(), stripped.reasoning),
        stripped.media,
        stripped.reply_to,
        stripped.as_voice,
        shown.token,
        stripped.text,
    )


def answer_of(response: ModelResponse) -> ModelAnswer:
    thinking = "".join(part.content for part in response.parts if part.part_kind == "thinking")
    return read_answer(response.text or "", thinking)


def as_sent(answer: ModelAnswer, sent: TextChange) -> ModelAnswer:
    """The answer as people are told it: with other words, or only that it was held back."""
    if sent.cancelled_by:
        return ModelAnswer(sent.refusal)
    return replace(answer, text=sent.text)


def without_tags(text: str) -> str:
    """The words of a text that an agent wrote, whoever they are for."""
    return strip_tags(text).text


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


@dataclass
class AnswerReader:
    """An answer while it comes, piece by piece. What it tells as text is how the answer begins, unless a
    piece says that the text before it is void."""

    _stripper: TagStripper = field(default_factory=TagStripper)
    _silence: AnswerStream = field(default_factory=AnswerStream)
    _says: bool = False
    """Whether there was text before."""
    _interrupted: bool = False
    """Whether something else came since the last text."""

    def restart(self) -> None:
        """Another answer comes, or the same one again."""
        self._stripper, self._silence = TagStripper(), AnswerStream()
        self._says = self._interrupted = False

    def add(self, delta: Delta) -> StrippedText:
        """What can be told now."""
        if isinstance(delta, TextDelta):
            return self._text(delta.text)
        self._interrupted = self._says
        return StrippedText(reasoning=delta.text) if isinstance(delta, ThinkingDelta) else StrippedText()

    def _text(self, piece: str) -> StrippedText:
        apart = "\n\n" if self._interrupted else ""
        self._says, self._interrupted = True, False
        told = self._stripper.feed(apart + piece)
        if told.void:
            self._silence = AnswerStream()
        return replace(told, text=self._silence.add(told.text))
