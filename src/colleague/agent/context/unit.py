"""A piece of a transcript that is shown or left out as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colleague.agent.context.tokens import message_tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

Place = tuple[int, int]
"""Of a message: the number of its run in the lane, and its position in the run. Before all messages of a run
stands -1, where what the caller gave with it is."""
BEFORE_RUN = -1
AFTER_RUN = 2**31 - 1
ELSEWHERE = -1
"""The run's number for what was said in the transcript of another session."""


@dataclass(frozen=True)
class MessageUnit:
    """A stored message with the results of its calls: a call is never parted from its result."""

    place: Place
    messages: tuple[ModelMessage, ...]
    tokens: int
    opens: bool = False
    """Whether a turn begins with it."""

    @classmethod
    def of(cls, place: Place, messages: Sequence[ModelMessage], *, opens: bool = False) -> MessageUnit:
        return cls(place, tuple(messages), message_tokens(messages), opens)


def total_tokens(units: Sequence[MessageUnit]) -> int:
    return sum(unit.tokens for unit in units)
