"""Everything a run needs to go on, assembled by whoever owns it: the main agent, or an expert."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from colleague.agent.gate import CautiousGate, Gate
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.thinking import Thinking
from colleague.agent.toolbox import Toolbox
from colleague.store.run import Outcome, Run


@dataclass(frozen=True)
class Budget:
    """Limits, checked before each model call. None is no limit."""

    tokens: int | None = None
    cost: float | None = None
    tool_calls: int | None = None


@dataclass(frozen=True)
class Retries:
    """How often a failed attempt is followed by another, and after what pause."""

    max_attempts: int = 1
    delay_ms: int = 30_000
    exponential: bool = True

    def pause_ms(self, attempt: int) -> int:
        return self.delay_ms * 2 ** (attempt - 1) if self.exponential else self.delay_ms


@dataclass(frozen=True)
class Setting:
    """The surroundings of a run."""

    owner: str
    model: ResolvedModel
    system: str
    toolbox: Toolbox
    gate: Gate = field(default_factory=CautiousGate)
    package_digest: str = ""
    thinking: Thinking = field(default_factory=Thinking)
    max_turns: int = 100
    timeout_seconds: float | None = 600
    result_chars: int = 100_000
    same_call_limit: int = 5
    run_budget: Budget = Budget()
    day_budget: Budget = Budget()
    retries: Retries = Retries()
    on_failure: Outcome = "failed"
    rejection: Literal["tell", "fail"] = "tell"
    """Whether the agent is told of a no and goes on, or the step has failed."""


class Assembler(Protocol):
    """Makes the setting of a run anew each time it is advanced, so that today's policy counts."""

    async def assemble(self, run: Run) -> Setting: ...
