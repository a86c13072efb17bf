"""Transcripts: as JSON for the store, and with tool names as a provider takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from colleague.agent.models.tool_name import ProviderToolNames, safe_name

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


def to_json(messages: Sequence[ModelMessage]) -> str:
    """A transcript, or one message of it in a list, as JSON text."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return ModelMessagesTypeAdapter.dump_json(list(messages)).decode()


def from_json(text: str | bytes) -> list[ModelMessage]:
    """The reverse of `to_json`. Raises pydantic's ValidationError for anything else."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return ModelMessagesTypeAdapter.validate_json(text)


def with_safe_names(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The transcript with every tool name in the form that providers accept."""
    return [_renamed(message, safe_name) for message in messages]


def with_shown_names(response: ModelResponse, names: ProviderToolNames) -> ModelResponse:
    """An answer with every tool name as people see it."""
    renamed: ModelResponse = _renamed(response, names.shown)
    return renamed


def _renamed(message: Any, rename: Callable[[str], str]) -> Any:
    """The same message where every name is right already: copying one costs more than looking."""
    parts = [_renamed_part(part, rename) for part in message.parts]
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _renamed_part(part: Any, rename: Callable[[str], str]) -> Any:
    name = getattr(part, "tool_name", None)
    return replace(part, tool_name=rename(name)) if name and rename(name) != name else part
