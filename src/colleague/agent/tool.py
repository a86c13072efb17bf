"""What the loop knows of a tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic_core import to_json

from colleague.errors import ColleagueError

if TYPE_CHECKING:
    from colleague.agent.gate import Verdict
    from colleague.agent.run_spec import RunSpec
    from colleague.mcp.sampling import OnSampling
    from colleague.store.tx import Tx


PLUGIN = "plugin:"
"""How the name of a server begins that is really a plugin, and the source of a plugin's words."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model and the gate see it. `repeatable`: sending it twice does no harm.

    `told`: what it is given is written down for people. `launch_digest`: what its server was started or
    reached by. `own_verdict`: what the tool itself says of a call, where its arguments decide."""

    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool = False
    repeatable: bool = False
    server: str = ""
    server_tool: str = ""
    told: bool = False
    launch_digest: str = ""
    own_verdict: Callable[[dict[str, Any]], Verdict] | None = field(default=None, compare=False)

    @cached_property
    def definition(self) -> str:
        """All that a model is told of it, about as long as it is on the way there."""
        return f"{self.name} {self.description} {to_json(self.parameters).decode()}"


@dataclass(frozen=True)
class ToolInput:
    """What a person answered to a question that a tool asked while it was at work."""

    digest: str
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    pending: str = ""
    """What the tool wanted to have back with the answer."""


@dataclass(frozen=True)
class ToolRequest:
    """One call to be made. `key` is the idempotency key; it stays the same when the call is sent again."""

    run_id: str
    call_id: str
    key: str
    arguments: dict[str, Any]
    on_progress: Callable[[str], None] = lambda _: None
    timeout: float | None = None
    """Seconds until it is given up; what the server's settings say when not set."""
    given: tuple[ToolInput, ...] = ()
    """What a person answered to questions of an earlier send."""
    on_sampling: OnSampling | None = None
    """Asks a model for the tool's server, if it may."""


@dataclass(frozen=True)
class ToolOutput:
    """What a tool said. `source` names where untrusted text comes from; without one it is our own word.

    `private` text may be read by the model and is shown to nobody else."""

    text: str
    is_error: bool = False
    source: str = ""
    private: bool = False


def refused(error: ColleagueError) -> ToolOutput:
    """What a model is told of an error that it can do something about."""
    return ToolOutput(error.sentence, is_error=True)


class UnknownEnd(Exception):
    """The call was sent and there is no definite answer: it may have happened."""


class NotSent(Exception):
    """The call never left: surely nothing happened."""


class PersonNeeded(NotSent):
    """The call never left, and no further try helps before a person has done something."""


class InputNeeded(Exception):
    """The tool is at work and asks a person. `schema` is of the answer; with `url` a visit is asked for.

    `pending` is given back with the answer."""

    def __init__(
        self,
        message: str,
        *,
        digest: str,
        schema: dict[str, Any],
        defaults: dict[str, Any],
        url: str,
        pending: str,
    ) -> None:
        super().__init__(message)
        self.message, self.digest, self.pending = message, digest, pending
        self.schema, self.defaults, self.url = schema, defaults, url


class AskingTool(ABC):
    """A tool that may ask a person while it is at work, by raising InputNeeded."""

    @abstractmethod
    async def go_on(self, request: ToolRequest, answer: ToolInput) -> ToolOutput:
        """Goes on with a call that has asked. Ends as `call` does."""
        ...


class Tool(Protocol):
    """Something the model can call."""

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, request: ToolRequest) -> ToolOutput:
        """Does it. Raises UnknownEnd or NotSent when it did not end with an answer."""
        ...


class PreparedTool(ABC):
    """A tool that can tell after a crash whether it had happened, and so never needs to ask."""

    @abstractmethod
    async def prepare(self, request: ToolRequest) -> str:
        """What is stored with the call before it begins (for a file: the hash before and after)."""
        ...

    @abstractmethod
    async def recover(self, request: ToolRequest, prepared: str) -> ToolOutput:
        """Finishes or repeats a call that was begun; an error for the model when neither is possible."""
        ...


class SessionTool(ABC):
    """A tool whose call is a session inside the run: continued after anything, never asked about."""

    tells_failure = False
    """Whether the agent is told when the session fails; otherwise the run fails with it."""

    @abstractmethod
    async def run_spec(self, arguments: dict[str, Any]) -> RunSpec: ...


@dataclass(frozen=True)
class Handover:
    """Work that is ready to be handed to another session."""

    lane: str
    """Of that session; it is locked before anything else."""
    start: Callable[[Tx], str | None]
    """Starts the work in the transaction that stores the call as started. The call's answer; None when it
    waits for the work. Raises NotSent, and then nothing is stored."""


class DelegatingTool(ABC):
    """A tool whose call hands work to another session, where it goes on whatever becomes of this run."""

    @abstractmethod
    async def handover(self, request: ToolRequest) -> Handover:
        """Reads and checks what it needs. Raises NotSent, in words the model can act on."""
        ...

    async def call(self, request: ToolRequest) -> ToolOutput:
        raise AssertionError(f"{request.call_id} is handed over, not called")
