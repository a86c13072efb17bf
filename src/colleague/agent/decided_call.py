"""The call that a turn begins with, when a person has decided about what an earlier turn proposed."""

from __future__ import annotations

from colleague.agent.turn_inputs import TurnInputs
from colleague.store.approvals import get_approval
from colleague.store.journal import Call, NewCall, get_call
from colleague.store.run import Run
from colleague.store.tx import Tx


def decided_call(tx: Tx, run: Run) -> NewCall | None:
    """The parked call that a person has decided about, when this is the turn of that decision."""
    approval_id = TurnInputs.of(run).approval
    parked = get_call(tx, str(get_approval(tx, approval_id).call_id)) if approval_id else None
    return _made_again(parked) if parked else None


def _made_again(parked: Call) -> NewCall:
    """A parked call in the turn that its decision began; the decision is found by the call it was about."""
    return NewCall(
        place=0,
        tool_call_id=f"decided-{parked.id}",
        operation=parked.operation,
        arguments=parked.arguments,
        tier=parked.tier,
        status="asked",
        server=parked.server,
        tool=parked.tool,
        digest=parked.digest,
        repeatable=parked.repeatable,
        target=parked.target,
        parked_from=parked.id,
        changed_by=parked.changed_by,
    )
