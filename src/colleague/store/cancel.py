"""Ending a run before it has ended by itself."""

from __future__ import annotations

import json

from colleague.store.approvals import Ask, approvals_of, raise_asks
from colleague.store.cascade import stop_children_of_run
from colleague.store.claims import end_run
from colleague.store.delegations import let_go
from colleague.store.journal import Call, read_calls
from colleague.store.run import Run, lock_run
from colleague.store.steps import reopen_steps
from colleague.store.tables import approvals, calls
from colleague.store.tx import Tx
from colleague.store.unfinished import keep_unfinished


def cancel(tx: Tx, run_id: str, reason: str, *, awaited_only: bool = False) -> bool:
    """Ends a run at once, whatever it is doing, and frees its lane. False when it had ended already.

    A call in flight becomes unknown: a person is asked what came of it, but it is not sent again. What it
    handed over ends with it; `awaited_only`: what it waits for, and the rest goes on."""
    run = lock_run(tx, run_id)
    if run.status == "done":
        return False
    pending = {"run_id": run_id, "status": "pending", "parked": 0}
    tx.update(approvals, pending, status="withdrawn", decided_at=tx.now, note=reason)
    stop_children_of_run(tx, run, reason, awaited_only=awaited_only)
    close_calls(tx, run, reason)
    keep_unfinished(tx, run)  # before the end of the run, which begins the next turn
    end_run(tx, run, "cancelled", error=reason)
    tx.tell_changed(run_id)
    return True


def close_calls(tx: Tx, run: Run, reason: str) -> None:
    """What a locked run that ends now leaves open: its questions are withdrawn, calls under way unknown.

    A draft stays: it is a person's to do, whatever became of the run."""
    for approval in approvals_of(tx, run.id):
        if approval.holds:
            tx.update(approvals, {"id": approval.id}, status="withdrawn", decided_at=tx.now, note=reason)
    let_go(tx, run.id, f"This turn was ended ({reason}).")
    for call in read_calls(tx, run.id):
        if call.result is not None:
            continue
        if call.is_session or call.status not in ("started", "unknown"):
            _not_run(tx, call, reason)
        else:
            _leave_unknown(tx, run, call, reason)


def start_over(tx: Tx, run: Run, reason: str) -> None:
    """For a locked run whose next attempt really repeats: nothing of this one stays open."""
    tx.update(
        approvals, {"run_id": run.id, "status": "pending"}, status="withdrawn", decided_at=tx.now, note=reason
    )
    for call in read_calls(tx, run.id):
        if call.result is None:
            _not_run(tx, call, reason)
    reopen_steps(tx, run.id)


def _not_run(tx: Tx, call: Call, reason: str) -> None:
    text = json.dumps({"text": f"not run, because {reason}", "source": ""}, ensure_ascii=False)
    tx.update(calls, {"id": call.id}, status="not_run", result=text, is_error=1, ended_at=tx.now)


def _leave_unknown(tx: Tx, run: Run, call: Call, reason: str) -> None:
    tx.update(calls, {"id": call.id}, status="unknown", note=reason)
    notice = f"the run was ended ({reason}) while this call was under way"
    ask = Ask(call.id, "uncertain", call.operation, call.arguments, call.digest, notice, send=call.sends)
    raise_asks(tx, run, [ask])
