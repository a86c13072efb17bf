"""Grants as a yes with --grant would make them."""

from __future__ import annotations

from colleague.store.approvals import Approval
from colleague.store.call_target import CallTarget
from colleague.store.journal import get_call
from colleague.store.tx import Tx


def call_target(tx: Tx, approval: Approval) -> CallTarget:
    """What the call of a question is bound to."""
    call = get_call(tx, str(approval.call_id))
    target = CallTarget.of_json(call.target) if call else None
    assert target is not None
    return target
