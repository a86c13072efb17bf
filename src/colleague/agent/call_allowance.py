"""How many calls of one answer may be made: budgets hold within an answer, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.agent.session import Session


@dataclass(frozen=True)
class CallAllowance:
    """The first `calls` may be made; the others are told `reason`."""

    calls: int
    reason: str


async def call_allowance(session: Session) -> CallAllowance:
    run_spec = session.run_spec
    most = run_spec.max_calls_per_answer
    found = [
        CallAllowance(
            most, f"Not made: an answer may ask for {most} calls. Ask for the rest in the next one."
        )
    ]
    budgets = (run_spec.run_budget.tool_calls, run_spec.day_budget.tool_calls)
    if budgets != (None, None):
        spent = await session.conversation.spent()
        for what, budget, used in zip(("run", "day"), budgets, spent, strict=True):
            if budget is not None:
                left = max(budget - used.tool_calls, 0)
                reason = f"Not made: the budget of the {what} is used up ({budget} tool calls)."
                found.append(CallAllowance(left, reason))
    return min(found, key=lambda each: each.calls)
