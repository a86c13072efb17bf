"""What a model is shown must fit what it can read: long results are cut shorter before anything fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.agent.exits import Failed
from colleague.agent.models.context_size import context_window
from colleague.agent.models.messages import to_json
from colleague.agent.render import presenter

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from colleague.agent.session import Scene

CHARS_A_TOKEN = 4
SHARE = 0.8
"""Of the window; the rest is for the answer and for what an estimate gets wrong."""
SHORTER = (1, 5, 25, 100)


def fitting_messages(scene: Scene) -> list[ModelMessage]:
    """The transcript, with results cut as far as needed. Raises Failed when even that does not fit."""
    window = context_window(scene.setting.model)
    for divisor in SHORTER:
        limit = max(500, scene.setting.result_chars // divisor)
        messages = scene.conversation.provider_messages(presenter(limit, scene.conversation.approvals))
        if window is None or _tokens(scene, messages) <= window * SHARE:
            return messages
    raise Failed(
        f"the conversation is longer than {scene.setting.model.name} can read ({window:,} tokens)",
        retry=False,
    )


def _tokens(scene: Scene, messages: list[ModelMessage]) -> int:
    return (len(scene.setting.system) + len(to_json(messages))) // CHARS_A_TOKEN
