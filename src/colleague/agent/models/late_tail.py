"""Where the changing end of a system prompt is sent, so that a provider's cache reaches over the history.

Providers cache a request from its beginning: tools, system prompt, messages. A time in the system prompt
makes all messages behind it new in every turn. So the end of the prompt is sent behind the newest thing that
was said. Anthropic is told to cache what stands before it. Others find the longest known beginning
themselves, so there the end continues the text that was said: later, as history, that text begins the same.
It is not put behind the results of tools: models take text there for the end of their work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserContent

    from colleague.agent.models.request import ThinkRequest

HEAD = "[The end of your system prompt, as it is now:]"


def with_late_tail(request: ThinkRequest, *, marked: bool) -> ThinkRequest:
    """The same when there is no end that changes, or nothing was said. `marked`: the cache ends before it."""
    place = last_said(request.messages)
    if not request.system_tail or place is None:
        return request
    messages = list(request.messages)
    said = messages[place]
    if said.kind == "request":
        messages[place] = _with_text(said, f"{HEAD}\n\n{request.system_tail}", marked=marked)
    return replace(request, messages=messages, system_tail="")


def last_said(messages: Sequence[ModelMessage]) -> int | None:
    """The place of the newest message that is more than results of tools."""
    for place in range(len(messages) - 1, -1, -1):
        if any(part.part_kind == "user-prompt" for part in messages[place].parts):
            return place
    return None


def _with_text(said: ModelRequest, text: str, *, marked: bool) -> ModelRequest:
    from pydantic_ai.messages import UserPromptPart

    *_, last = (part for part in said.parts if isinstance(part, UserPromptPart))
    late = replace(last, content=_followed_by(last.content, text, marked=marked))
    return replace(said, parts=[late if part is last else part for part in said.parts])


def _followed_by(own: str | Sequence[UserContent], text: str, *, marked: bool) -> str | Sequence[UserContent]:
    from pydantic_ai.messages import CachePoint

    items = [own] if isinstance(own, str) else list(own)
    if marked:
        return [*items, CachePoint(), text]
    return f"{own}\n\n{text}" if isinstance(own, str) else [*items, text]
