"""When a session is over, as its transcript tells."""

from __future__ import annotations

from typing import Protocol

from colleague.agent.conversation import Conversation
from colleague.agent.exits import Completed


class Completion(Protocol):
    """Asked after each answer, once its calls have their results."""

    async def check(self, conversation: Conversation) -> None:
        """Raises Completed or Failed when this is the end; may say something to the agent instead."""
        ...


class TextCompletion:
    """An answer that asks for nothing more is the last one."""

    async def check(self, conversation: Conversation) -> None:
        text = conversation.final_text
        if text is not None:
            raise Completed(text)
