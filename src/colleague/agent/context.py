"""What a model is shown must fit what it can read: long results are cut shorter before anything fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.agent.exits import Failed
from colleague.agent.models.context_size import context_window
from colleague.agent.models.messages import to_json
from colleague.agent.render import presenter

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from colleague.agent.session import Session

CHARS_A_TOKEN = 4
SHARE = 0.8
"""Of the window; the rest is for the answer and for what an estimate gets wrong."""
SHORTER = (1, 5, 25, 100)


def fitting_messages(session: Session) -> list[ModelMessage]:
    """The transcript, with results cut as far as needed. Raises Failed when even that does not fit."""
    window = context_window(session.run_spec.model)
    for divisor in SHORTER:
        limit = max(500, session.run_spec.result_chars // divisor)
        messages = session.conversation.provider_messages(presenter(limit, session.conversation.approvals))
        if window is None or _tokens(session, messages) <= window * SHARE:
            return messages
    raise Failed(
        f"the conversation is longer than {session.run_spec.model.name} can read ({window:,} tokens)",
        retry=False,
    )


def _tokens(session: Session, messages: list[ModelMessage]) -> int:
    prompt = session.run_spec.system + session.run_spec.system_tail
    return (len(prompt) + len(to_json(messages))) // CHARS_A_TOKEN
