"""An answer as the data of events."""

from __future__ import annotations

from collections.abc import Iterator

from colleague.agent.streaming.answer import ModelAnswer
from colleague.agent.streaming.tag_stripper import StrippedText
from colleague.run_event import MessageEnd, MessageUpdate


def message_updates(told: StrippedText) -> Iterator[MessageUpdate]:
    """Reasoning and text are told apart."""
    if told.reasoning:
        yield {"thinking": told.reasoning}
    if told.void:
        yield {"text": told.text, "void": True}
    elif told.text:
        yield {"text": told.text}


def message_end(answer: ModelAnswer) -> MessageEnd:
    return {
        "text": answer.text,
        "reasoning": answer.reasoning,
        "media": list(answer.media),
        "reply_to": answer.reply_to,
        "as_voice": answer.as_voice,
        "silent": answer.token if answer.is_silent else None,
    }
