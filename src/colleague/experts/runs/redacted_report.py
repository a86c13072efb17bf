"""What leaves the runtime for people and programs to see, with everything private taken out."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, cast

from colleague.agent.streaming.run_result import run_result
from colleague.clock import iso
from colleague.experts.privacy.public_document import public_document
from colleague.home import Home
from colleague.run_document import ApprovalDocument, MessageDocument, RunDocument
from colleague.store import report
from colleague.store.approvals import Approval
from colleague.store.event_report import event_document
from colleague.store.grants import get_grant
from colleague.store.outbox import OutboxMessage
from colleague.store.run import Run, get_run
from colleague.store.tx import Tx


def run_report(tx: Tx, home: Home, run_id: str) -> RunDocument:
    """Everything the runtime did for one run."""
    run, document = get_run(tx, run_id), report.run_document(tx, run_id)
    if run.status in ("done", "waiting"):
        document = {**document, "result": run_result(run, document, report.answers_of(tx, run_id))}
    return public_document(home, run, document)


def trajectory_report(tx: Tx, home: Home, session_key: str) -> list[dict[str, Any]]:
    """A session as records; each is cleaned by what its own run may not tell."""
    runs: dict[str, Run] = {}
    records = []
    for each in report.trajectory(tx, session_key):
        run_id = each["id"] if each["type"] == "run" else each["run"]
        run = runs.get(run_id)
        if run is None:
            run = runs[run_id] = get_run(tx, run_id)
        records.append(public_document(home, run, each))
    return records


def event_report(tx: Tx, home: Home, event_id: str) -> dict[str, Any]:
    """What happened to an event: accepted, run, delivered."""
    document = event_document(tx, event_id)
    if not document["run"]:
        return document
    return public_document(home, get_run(tx, document["run"]["id"]), document)


def approval_report(tx: Tx, home: Home, approval: Approval) -> ApprovalDocument:
    """One question: what would run, why, and how it was decided."""
    times = ("requested_at", "expires_at", "decided_at")
    moments = {name: iso(getattr(approval, name)) for name in times}
    run = get_run(tx, approval.run_id)
    document = asdict(approval) | moments | {"arguments": json.loads(approval.arguments)}
    parameters = json.loads(approval.parameters) if approval.parameters else None
    more = {"parameters": parameters, "behind": report.runs_behind(tx, run), "process": run.process}
    return cast(ApprovalDocument, public_document(home, run, document | more))


def granted_text(tx: Tx, home: Home, grant_id: str) -> str:
    """What a grant covers, as the person is told who gave it."""
    from colleague.experts.grant_report import covers_text
    from colleague.experts.privacy.redactor import private_text

    grant = get_grant(tx, grant_id)
    private = private_text(home.snapshots, grant.package_digest or "")
    return private.redact(covers_text(grant)) if private else covers_text(grant)


def outbox_report(tx: Tx, home: Home, message: OutboxMessage) -> MessageDocument:
    return public_document(home, get_run(tx, message.run_id), report.outbox_document(message))
