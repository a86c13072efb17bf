"""One tools/call on its way, and what is known about how far it got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from colleague.mcp.errors import CallNotSent

if TYPE_CHECKING:
    from colleague.mcp.answer import ToolAnswer
    from colleague.mcp.elicitation import QuestionAnswer, ServerQuestion
    from colleague.mcp.sampling import OnSampling

IDEMPOTENCY_KEY = "colleague/idempotency-key"


@dataclass(frozen=True)
class CallProgress:
    """How far a tool says it is."""

    progress: float
    total: float | None = None
    message: str | None = None


OnProgress = Callable[[CallProgress], Awaitable[None]]
OnLate = Callable[[str, "ToolAnswer"], Awaitable[None]]


@dataclass(eq=False)
class McpCall:
    """What the transport notes down while the call passes through it."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    key: str
    on_progress: OnProgress | None = None
    on_sampling: OnSampling | None = None
    """Asks a model for the server."""
    samples: int = 0
    """How often the server asked a model, and how many of that are under way."""
    sampling: int = 0
    request_id: str | int | None = None
    written: bool = False
    """The transport began to write it."""
    handed_over: bool = False
    """The transport has taken it."""
    refused: str = ""
    """Why it surely did not reach the tool."""
    needs_login: bool = False
    """A person has to log in at the server first."""
    trouble: str = ""
    """What went wrong on the way, when it may have reached the tool."""
    abandoned: bool = False
    """Nobody waits for its answer any more."""
    task: asyncio.Task[ToolAnswer] | None = field(default=None, repr=False)
    round: dict[str, Any] = field(default_factory=dict)
    """What the server asked and was answered so far; see input_rounds.py."""
    question: ServerQuestion | None = None
    """What the server asks while it works; it waits for `answer`."""
    answer: asyncio.Future[QuestionAnswer] | None = field(default=None, repr=False)
    asked: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    questions: int = 0
    given: list[tuple[str, QuestionAnswer]] = field(default_factory=list, repr=False)
    """Answers to the same questions of an earlier send, by digest; each counts once."""

    @property
    def name(self) -> str:
        return f"{self.server}/{self.tool}"

    def ask(self, question: ServerQuestion) -> asyncio.Future[QuestionAnswer]:
        """Whoever waits for the call is told of the question."""
        self.question, self.answer = question, asyncio.get_running_loop().create_future()
        self.asked.set()
        return self.answer

    def answered(self, answer: QuestionAnswer) -> None:
        waiting, self.answer, self.question = self.answer, None, None
        self.asked.clear()
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def take_given(self, digest: str) -> QuestionAnswer | None:
        found = next((each for each in self.given if each[0] == digest), None)
        if found is None:
            return None
        self.given.remove(found)
        return found[1]

    async def tell(self, progress: float, total: float | None, message: str | None) -> None:
        if self.on_progress and not self.abandoned:
            under_way.set(None)
            await self.on_progress(CallProgress(progress, total, message))


under_way: ContextVar[McpCall | None] = ContextVar("under_way", default=None)
"""The call whose message is being sent. Transports carry it along with the message."""


def encoded(server: str, tool: str, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The arguments as plain JSON values; NotSent when they, or the key, are none."""
    try:
        text = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        f"{text}{key}".encode()
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallNotSent(
            f"{server}/{tool}: the arguments cannot be written as JSON: {_error_text(error)}",
            server=server,
            hint="call it again with plain texts, numbers, lists and objects",
        ) from None
    if not isinstance(plain, dict):
        raise CallNotSent(f"{server}/{tool}: the arguments are not an object", server=server)
    return plain


def _error_text(error: Exception) -> str:
    return "a text is not valid Unicode" if isinstance(error, UnicodeError) else str(error)
