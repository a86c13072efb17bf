"""One tiny request to a model, to see whether it answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.resolve import resolve_model
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.think import think
from colleague.config import Settings

QUESTION = "Answer with one word: ready"
LONGEST_ANSWER = 1024


async def probe_model(
    settings: Settings, environ: Mapping[str, str], name: str, *, folder: Path | None, seconds: float
) -> tuple[ResolvedModel, Reply]:
    """Raises ColleagueError when there is no answer."""
    from pydantic_ai.messages import ModelRequest

    model = resolve_model(settings, environ, name, folder=folder)
    messages = [ModelRequest.user_text_prompt(QUESTION)]
    request = ThinkRequest(messages, max_tokens=LONGEST_ANSWER, timeout_seconds=seconds)
    return model, await think(model, request)
