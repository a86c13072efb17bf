"""What a run tells people at its end: the result, or why there is none."""

from __future__ import annotations

import json
from typing import Any, Final

from colleague.agent.privacy import Private
from colleague.packages.delivery import Delivery
from colleague.packages.package import Package
from colleague.store.journal import read_calls
from colleague.store.outbox import put_in_outbox
from colleague.store.run import Outcome, Run
from colleague.store.steps import steps_of
from colleague.store.tx import Tx

DELIVERY: Final = "delivery"
ESCALATION = "escalation"


def delivery_of(package: Package, run: Run) -> Delivery:
    process = package.process(run.process)
    return process.delivery if process else package.manifest.delivery


def deliver(
    tx: Tx, package: Package, run: Run, narrative: str, outputs: dict[str, Any] | None, channel: str = ""
) -> None:
    """Puts the result into the outbox; `channel` is another than that of the process."""
    body = json.dumps(delivery_body(package, run, narrative, outputs), ensure_ascii=False)
    where = channel or delivery_of(package, run).channel
    put_in_outbox(tx, run.id, DELIVERY, str(run.attempt), where, body)


def delivery_body(
    package: Package, run: Run, narrative: str, outputs: dict[str, Any] | None
) -> dict[str, Any]:
    """The result in the form the process asks for."""
    wanted = delivery_of(package, run).format
    body: dict[str, Any] = {"expert": run.expert, "process": run.process, "format": wanted}
    if wanted != "structured" or not outputs:
        body["narrative"] = narrative
    if wanted != "narrative" and outputs is not None:
        body["outputs"] = outputs
    return body


def escalate(tx: Tx, channel: str, run: Run, outcome: Outcome, error: str, private: Private) -> None:
    """Tells a person that a run has failed: which process, why, what they need, what to do."""
    body = {
        "expert": run.expert,
        "process": run.process,
        "reason": error,
        "outcome": outcome,
        "context": private.redact_document(_context(tx, run)),
        "recommendation": _advice(run, outcome),
    }
    put_in_outbox(tx, run.id, ESCALATION, str(run.attempt), channel, json.dumps(body, ensure_ascii=False))


def _context(tx: Tx, run: Run) -> dict[str, Any]:
    """Inputs, steps, and the effects that were made. What a fork took over was told before."""
    steps = [f"{step.number}. {step.text}: {step.status}" for step in steps_of(tx, run.id)]
    own = [call for call in read_calls(tx, run.id) if call.server and not call.taken_from]
    made = [f"{call.operation}: {call.status}" for call in own]
    return {"inputs": json.loads(run.inputs), "steps": steps, "calls": made, "attempts": run.attempt}


def _advice(run: Run, outcome: Outcome) -> str:
    ending = run.id[-8:]
    if outcome == "dead_letter":
        return f"look at it with colleague deadletter show {ending}, then colleague deadletter retry {ending}"
    return f"look at it with colleague run show {ending}, then colleague run retry {ending}"
