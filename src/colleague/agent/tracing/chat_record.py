"""One try to ask a model, as every trace takes what it needs of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from colleague.agent.models.messages import to_json
from colleague.agent.tracing.record import Document, now

if TYPE_CHECKING:
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.models.resolved import ResolvedModel


@dataclass(frozen=True)
class ChatRecord:
    """What was asked, whom, and what came of it: a reply, or an error."""

    run: str
    key: str
    """The session's key."""
    session: str
    """The transcript inside the run: `main`, or the call that is a session of its own."""
    model: ResolvedModel
    request: ThinkRequest
    """Without the bytes of pictures."""
    reply: Reply | None = None
    error: str = ""
    at: str = field(default_factory=now)

    def about(self) -> Document:
        """What every line begins with."""
        return {
            "at": self.at,
            "run": self.run,
            "session": self.key,
            "transcript": self.session,
            "model": self.model.name,
        }

    @property
    def system(self) -> str:
        return self.request.whole_system

    def tools(self) -> list[Document]:
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters_json_schema,
            }
            for tool in self.request.tools
        ]

    def messages(self) -> list[Any]:
        found: list[Any] = json.loads(to_json(self.request.messages))
        return found

    def response(self) -> Any:
        return json.loads(to_json([self.reply.response])) if self.reply else None

    def outcome(self) -> Document:
        """Tokens, cost and why the answer ended; or the error."""
        return outcome_of(self.reply) if self.reply else {"error": self.error}


def outcome_of(reply: Reply) -> Document:
    return {
        "usage": usage_of(reply),
        "cost": None if reply.cost is None else float(reply.cost),
        "finish_reason": reply.finish_reason,
        "thinking_level": reply.thinking,
        "seconds": round(reply.seconds, 3),
    }


def usage_of(reply: Reply) -> Document | None:
    """None when the provider did not say."""
    used = reply.usage
    if not used.measured:
        return None
    return {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cache_read_tokens": used.cache_read_tokens,
        "cache_write_tokens": used.cache_write_tokens,
    }
