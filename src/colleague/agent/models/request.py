"""What a model is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colleague.agent.models.request_watch import RequestWatch
from colleague.agent.models.thinking import Thinking

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import ToolDefinition

    from colleague.agent.models.resolved import ResolvedModel


@dataclass(frozen=True)
class ThinkRequest:
    """One request. Tool names are the ones people see, in the tools and in the messages."""

    messages: Sequence[ModelMessage]
    system: str = ""
    """The part of the system prompt that stays the same from turn to turn, so that providers can cache it."""
    system_tail: str = ""
    """The part that changes, such as the time; it stands at the end."""
    tools: Sequence[ToolDefinition] = ()
    thinking: Thinking = field(default_factory=Thinking)
    max_tokens: int | None = None
    """Tokens of the answer; the model's own limit when not set."""
    timeout_seconds: float | None = None
    """Seconds the whole answer may take; the provider's setting when not set."""
    stall_seconds: float | None = None
    """Seconds of silence after which the answer is given up; the provider's setting when not set."""
    with_pictures: Callable[[Sequence[ModelMessage], ResolvedModel], list[ModelMessage]] | None = field(
        default=None, repr=False, compare=False
    )
    """Puts pictures into the messages as far as the model that is asked sees them. It reads files."""
    watch: RequestWatch | None = field(default=None, repr=False, compare=False)
    """Who looks on, for traces."""

    @property
    def whole_system(self) -> str:
        """As models without blocks are sent it."""
        return "\n\n".join(each for each in (self.system, self.system_tail) if each)
