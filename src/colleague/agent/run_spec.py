"""Everything a run needs to go on, assembled by whoever owns it: the main agent, or an expert."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from colleague.agent.completion import Completion, TextCompletion
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.state import EarlierMessages
from colleague.agent.conversation import Content
from colleague.agent.gate import CautiousGate, Gate
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.thinking import Thinking
from colleague.agent.opening import OpeningMessages, PlainOpening
from colleague.agent.privacy import NothingPrivate, Private
from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import Toolbox, digest_of, target_of
from colleague.budget import Budget
from colleague.errors import ColleagueError
from colleague.store.call_target import CallTarget
from colleague.store.chat_answers import ChatTarget
from colleague.store.journal import NewCall
from colleague.store.run import Outcome, Run
from colleague.store.session_items import SessionItem
from colleague.store.tx import Tx

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


@dataclass(frozen=True)
class Retries:
    """How often a failed attempt is followed by another, and after what pause."""

    max_attempts: int = 1
    delay_ms: int = 30_000
    exponential: bool = True

    def pause_ms(self, attempt: int) -> int:
        return self.delay_ms * 2 ** (attempt - 1) if self.exponential else self.delay_ms


class RunEndHooks(Protocol):
    """What else happens when a run ends. What they store is there before the lane is free, so before the next
    turn of the session begins."""

    async def prepared(self, run: Run, narrative: str, outputs: dict[str, Any] | None) -> RunEndHooks:
        """The hooks for this result, after others were asked about it. Before the commit."""
        ...

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:
        """Stored in the commit that ends the run."""
        ...

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:
        """Stored in the commit that ends the run after its last attempt."""
        ...

    async def cleanup(self, run: Run, outcome: Outcome) -> None:
        """After the commit. A crash may come before it, so nothing may depend on it."""
        ...


class NoRunEndHooks:
    """For a run that only answers."""

    async def prepared(self, run: Run, narrative: str, outputs: dict[str, Any] | None) -> RunEndHooks:  # noqa: ARG002
        return self

    def completed(self, tx: Tx, run: Run, narrative: str, outputs: dict[str, Any] | None) -> None:
        pass

    def failed(self, tx: Tx, run: Run, outcome: Outcome, error: str) -> None:
        pass

    async def cleanup(self, run: Run, outcome: Outcome) -> None:
        pass


@dataclass(frozen=True)
class RunSpec:
    """Model, prompt, tools, policy and limits of one session."""

    owner: str
    routes: Routes
    """The model, and the other keys and models to try when it fails."""
    system: str
    """The part of the system prompt that stays the same from turn to turn."""
    toolbox: Toolbox
    system_tail: str = ""
    """The part that changes, such as the time; it stands at the end."""
    gate: Gate = field(default_factory=CautiousGate)
    package_digest: str = ""
    thinking: Thinking = field(default_factory=Thinking)
    max_turns: int = 100
    timeout_seconds: float | None = 600
    same_call_limit: int | None = 5
    """How often the same call may be made in a row; None is no limit."""
    failures_repeat: bool = False
    """Whether calls that failed count as well."""
    max_calls_per_answer: int = 200
    run_budget: Budget = field(default_factory=Budget)
    day_budget: Budget = field(default_factory=Budget)
    retries: Retries = Retries()
    on_failure: Outcome = "failed"
    rejection: Literal["tell", "fail"] = "tell"
    """Whether the agent is told of a no and goes on, or the step has failed."""
    opening: OpeningMessages = field(default_factory=PlainOpening)
    completion: Completion = field(default_factory=TextCompletion)
    end_hooks: RunEndHooks = field(default_factory=NoRunEndHooks)
    private: Private = field(default_factory=NothingPrivate)
    starts_over: bool = False
    """Whether another attempt begins with an empty transcript, and really repeats."""
    ask_channel: str | None = None
    """Where people are told of questions; None when whoever waits for the run sees them."""
    draft_channel: str | None = None
    history: Callable[[Run], Awaitable[EarlierMessages]] | None = None
    """Reads the earlier turns of the session; None where a run stands by itself."""
    context: ContextRules = field(default_factory=ContextRules)
    """How much of a conversation is shown, and when it is shortened."""
    summary_model: ResolvedModel | None = None
    """The model that shortens it; None when it is the session's own."""
    keeps: Callable[[Run], Awaitable[str]] | None = None
    """What stays word for word when it is shortened, such as a checklist with its inputs. It stands for the
    message that began the run."""
    compacts: str | None = None
    """This run only shortens the conversation; what a person wants to be kept, or empty."""
    steering: Callable[[Tx, Sequence[SessionItem]], Content] | None = None
    """How messages are told that people send during the turn; None where none are taken."""
    pictures: Callable[[Sequence[ModelMessage], ResolvedModel], list[ModelMessage]] | None = None
    """Puts the pictures of the messages into a request, or sentences where that model cannot see them."""
    parks: bool = False
    """Whether a question waits by itself while the conversation goes on."""
    hidden: bool = False
    """Whether what is said in this turn is kept and not shown, unless its end says otherwise."""
    quiet: bool = False
    """Whether nobody who watches the run is told of this session inside a call."""
    chat: ChatTarget | None = None
    """Where its answers are sent, beside the session; None where whoever reads the session sees them."""
    decided_call: NewCall | None = None
    """A parked call that a person has decided about: this turn begins with it."""

    def digest_of(self, spec: ToolSpec, arguments: dict[str, Any]) -> str:
        """What a person decides on."""
        return digest_of(self.owner, self.package_digest, spec, arguments)

    def target_of(self, spec: ToolSpec) -> CallTarget:
        """What a grant is bound to."""
        return target_of(self.package_digest, spec)


class CannotAssemble(ColleagueError):
    """The run cannot go on as things are. `retry` says whether that may pass."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        retry: bool = False,
        retries: Retries | None = None,
        on_failure: Outcome = "failed",
        end_hooks: RunEndHooks | None = None,
        starts_over: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry = retry
        self.retries = retries or Retries()
        self.on_failure = on_failure
        self.end_hooks = end_hooks or NoRunEndHooks()
        self.starts_over = starts_over


class Assembler(Protocol):
    """Builds the RunSpec of a run each time it is advanced, so that today's policy counts."""

    async def assemble(self, run: Run) -> RunSpec: ...
