"""Ending a run before it has ended by itself."""

from __future__ import annotations

from colleague.store.approvals import Ask, raise_asks
from colleague.store.journal import Call, read_calls
from colleague.store.run import Run, lock_run
from colleague.store.tables import approvals, calls
from colleague.store.tx import Tx
from colleague.store.work import end_run


def cancel(tx: Tx, run_id: str, reason: str) -> bool:
    """Ends a run at once, whatever it is doing, and frees its lane. False when it had ended already.

    A call in flight becomes unknown: a person is asked what came of it, but it is not sent again."""
    run = lock_run(tx, run_id)
    if run.status == "done":
        return False
    pending = {"run_id": run_id, "status": "pending"}
    tx.update(approvals, pending, status="withdrawn", decided_at=tx.now, note=reason)
    for call in read_calls(tx, run_id):
        if call.status in ("started", "unknown") and call.result is None:
            _leave_unknown(tx, run, call, reason)
    end_run(tx, run, "cancelled", error=reason)
    return True


def _leave_unknown(tx: Tx, run: Run, call: Call, reason: str) -> None:
    tx.update(calls, {"id": call.id}, status="unknown", note=reason)
    notice = f"the run was ended ({reason}) while this call was under way"
    ask = Ask(call.id, "uncertain", call.operation, call.arguments, call.digest, notice, send=call.sends)
    raise_asks(tx, run, [ask])
