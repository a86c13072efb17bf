"""Whether a run may spend more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.agent.exits import Failed
from colleague.budget import Budget

if TYPE_CHECKING:
    from colleague.agent.session import Session
    from colleague.store.spend import Spent


async def check_budget(session: Session) -> None:
    """Raises Failed when the money, tokens or calls of the run or of its expert's day are used up."""
    run_spec, conversation = session.run_spec, session.conversation
    if run_spec.run_budget == run_spec.day_budget == Budget():
        await conversation.require_hold()
        return
    run, day = await conversation.spent()
    for used, budget, what in ((run, run_spec.run_budget, "run"), (day, run_spec.day_budget, "day")):
        over = _over(used, budget)
        if over:
            raise Failed(f"the budget of the {what} is used up: {over}", retry=False)


def _over(used: Spent, budget: Budget) -> str:
    if budget.tokens is not None and used.tokens >= budget.tokens:
        return f"{used.tokens:,} of {budget.tokens:,} tokens"
    if budget.cost is not None and used.cost >= budget.cost:
        return f"{used.cost:.2f} of {budget.cost:.2f}"
    if budget.tool_calls is not None and used.tool_calls >= budget.tool_calls:
        return f"{used.tool_calls} of {budget.tool_calls} tool calls"
    return ""
