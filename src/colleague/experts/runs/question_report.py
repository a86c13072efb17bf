"""What a person needs beside a question: its origin, what is known of its call, what it changes."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.clock import iso
from colleague.experts.privacy.redactor import private_text_of
from colleague.experts.runs.redacted_report import approval_report
from colleague.experts.workspace.learnings import LearningEntry, with_entry
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home
from colleague.run_document import ApprovalDocument
from colleague.store.accept import Event
from colleague.store.approvals import Approval
from colleague.store.journal import get_call
from colleague.store.run import Run, get_run
from colleague.store.tables import events
from colleague.store.tx import Tx

_NO_LINES = ("---", "+++", "@@", "+<!-- learning:", "-<!-- learning:")
"""Of a difference: what no person reads."""


@dataclass(frozen=True)
class RunOrigin:
    """What set a run going: a trigger or a person, when, and with which inputs."""

    trigger: str
    source: str
    at: str | None
    inputs: Any


@dataclass(frozen=True)
class KnownCall:
    """What is known of a call whose end nobody saw."""

    server: str
    sends: int
    started_at: str | None
    note: str


@dataclass(frozen=True)
class QuestionReport:
    """One question with what stands around it."""

    approval: ApprovalDocument
    origin: RunOrigin
    known: KnownCall | None


def question_report(tx: Tx, home: Home, approval: Approval) -> QuestionReport:
    run = get_run(tx, approval.run_id)
    known = _known(tx, approval.call_id) if approval.kind == "uncertain" and approval.call_id else None
    return QuestionReport(approval_report(tx, home, approval), _origin(tx, home, run), known)


def _origin(tx: Tx, home: Home, run: Run) -> RunOrigin:
    found = tx.find(Event, events, {"id": run.event_id}) if run.event_id else []
    event = found[0] if found else None
    private = private_text_of(home, run)
    inputs = json.loads(run.inputs)
    about = {
        "inputs": private.redact_document(inputs) if private else inputs,
        "at": iso(event.received_at) if event else iso(run.created_at),
    }
    return RunOrigin(event.trigger_name or "" if event else "", event.source if event else "", **about)


def _known(tx: Tx, call_id: str) -> KnownCall | None:
    call = get_call(tx, call_id)
    if call is None:
        return None
    return KnownCall(call.server, call.sends, iso(call.started_at), call.note or "")


def learning_difference(workspace: Path, proposal: dict[str, Any]) -> list[str]:
    """The lines that an approved learning adds to its file (+), and takes out of it (-)."""
    body = dict(proposal)
    try:
        folder, most = Workspace.of(workspace, body.pop("expert")).learnings, int(body.pop("most"))
        before, after = with_entry(folder, LearningEntry(**body), most)
    except (KeyError, TypeError, ValueError):
        return []
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return [line for line in lines if line and not line.startswith(_NO_LINES)]
