"""Taking back a question before anybody has answered it."""

from __future__ import annotations

from colleague.store.activity_lines import tell_decided
from colleague.store.approvals import AlreadyDecided, Approval, Kind, get_approval
from colleague.store.ids import short
from colleague.store.outbox import mark_answered
from colleague.store.record import columns_of, record
from colleague.store.run import lock_run
from colleague.store.sql import select
from colleague.store.tables import approvals, runs, sql_literal
from colleague.store.timers import clear_timer
from colleague.store.tx import Tx

WITHDRAWABLE: tuple[Kind, ...] = ("confirm", "low_confidence", "draft")
"""Proposals. What may have happened already is a person's to settle."""


def open_proposals(tx: Tx, session_key: str) -> list[Approval]:
    """What waits for a person in a session without holding it up, the oldest first."""
    query = select(*columns_of(Approval, approvals)).join(runs, runs.c.id == approvals.c.run_id)
    query = query.where(approvals.c.status == sql_literal("pending"), runs.c.session_key == session_key)
    found = [
        record(Approval, row) for row in tx.all(query.order_by(approvals.c.requested_at, approvals.c.id))
    ]
    return [each for each in found if not each.holds]


def withdraw(tx: Tx, approval_id: str, by: str, note: str) -> Approval:
    """Nothing runs; who decides afterwards is told. Raises AlreadyDecided."""
    run = lock_run(tx, get_approval(tx, approval_id).run_id)
    approval = get_approval(tx, approval_id)
    if approval.status != "pending":
        who = f" by {approval.decided_by}" if approval.decided_by else ""
        word = approval.decision or approval.status
        raise AlreadyDecided(f"approval {short(approval.id)} is settled already: {word}{who}")
    values = {"status": "withdrawn", "decided_at": tx.now, "decided_by": by, "note": note}
    tx.update(approvals, {"id": approval.id}, **values)
    clear_timer(tx, "expiry", approval.id)
    mark_answered(tx, run.id, approval.id, by)
    tell_decided(tx, approval, "withdrawn", by)
    return get_approval(tx, approval.id)
