"""What the inbox shows: questions, runs that failed for good, what is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.experts.runs.question_report import (
    KnownCall,
    RunOrigin,
    learning_difference,
    question_report,
)
from colleague.experts.runs.redacted_report import approval_report, outbox_report
from colleague.gateway.gateway import Gateway
from colleague.gateway.page.mail import Mail, mail_of
from colleague.home import Home
from colleague.run_document import ApprovalDocument, MessageDocument, RunBrief
from colleague.store.approvals import Approval, get_approval
from colleague.store.lookup import full_id
from colleague.store.outbox import deliveries_page, get_delivery
from colleague.store.overview import count_dead_letters, count_unread, dead_letters, pending_by_kind
from colleague.store.report import brief_document
from colleague.store.run import get_run
from colleague.store.tables import approvals, outbox
from colleague.store.tx import Tx
from colleague.store.waiting_questions import decided_since, waiting_page

SHOWN = 25
LATELY_MS = 120_000
MOST_LATELY = 5
ESCALATION = "escalation"
GROUPS = {"uncertain": "uncertain", "draft": "drafts", "learning": "learnings"}
"""The kinds with a heading of their own."""


@dataclass(frozen=True)
class Question:
    """One question as its card shows it."""

    approval: ApprovalDocument
    origin: RunOrigin
    known: KnownCall | None
    mail: Mail | None
    difference: list[str]

    @property
    def group(self) -> str:
        return GROUPS.get(self.approval["kind"], "questions")


@dataclass(frozen=True)
class UnreadDelivery:
    """A message to people, and whose run it is about."""

    message: MessageDocument
    expert: str


@dataclass(frozen=True)
class Inbox:
    """All that waits for a person, the beginning of each list."""

    questions: list[Question]
    next_after: str | None
    after: str
    counts: Mapping[str, int]
    dead_letters: list[RunBrief]
    escalations: list[UnreadDelivery]
    unread: list[UnreadDelivery]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


async def read_inbox(gateway: Gateway, after: str = "") -> Inbox:
    workspace = gateway.live.settings.workspace

    def work(tx: Tx) -> Inbox:
        start = full_id(tx, approvals, "approval", after) if after else None
        found = waiting_page(tx, limit=SHOWN, after=start)
        told = [] if after else _unread_deliveries(tx, gateway)
        return Inbox(
            [question_of(tx, gateway.home, workspace, each) for each in found.items],
            found.next_after,
            after,
            _counts(tx),
            [] if after else [brief_document(run) for run in dead_letters(tx, limit=SHOWN).items],
            [each for each in told if each.message["kind"] == ESCALATION],
            [each for each in told if each.message["kind"] != ESCALATION],
        )

    return await gateway.database.read(work)


async def read_question(gateway: Gateway, ending: str) -> Question:
    """Raises NotFound."""
    workspace = gateway.live.settings.workspace

    def work(tx: Tx) -> Question:
        found = get_approval(tx, full_id(tx, approvals, "approval", ending))
        return question_of(tx, gateway.home, workspace, found)

    return await gateway.database.read(work)


async def decided_lately(gateway: Gateway, by_others_than: str) -> list[ApprovalDocument]:
    """What somebody else has just decided, the newest first."""

    def work(tx: Tx) -> list[ApprovalDocument]:
        lately = decided_since(tx, tx.now - LATELY_MS, limit=4 * MOST_LATELY)
        others = [each for each in lately if each.decided_by != by_others_than][:MOST_LATELY]
        return [approval_report(tx, gateway.home, each) for each in others]

    return await gateway.database.read(work)


async def expert_told_of(gateway: Gateway, ending: str) -> str:
    """Whose message it is. Raises NotFound."""

    def work(tx: Tx) -> str:
        message = get_delivery(tx, full_id(tx, outbox, "delivery", ending))
        return get_run(tx, message.run_id).expert

    return await gateway.database.read(work)


def question_of(tx: Tx, home: Home, workspace: Path, approval: Approval) -> Question:
    report = question_report(tx, home, approval)
    arguments: Any = report.approval["arguments"]
    learns = approval.kind == "learning" and isinstance(arguments, dict)
    return Question(
        report.approval,
        report.origin,
        report.known,
        None if learns else mail_of(arguments),
        learning_difference(workspace, arguments) if learns else [],
    )


def _counts(tx: Tx) -> dict[str, int]:
    found = {"uncertain": 0, "questions": 0, "drafts": 0, "learnings": 0}
    for kind, count in pending_by_kind(tx).items():
        found[GROUPS.get(kind, "questions")] += count
    return found | {"failed": count_dead_letters(tx), "unread": count_unread(tx)}


def _unread_deliveries(tx: Tx, gateway: Gateway) -> list[UnreadDelivery]:
    page = deliveries_page(tx, unread=True, limit=SHOWN, after=None)
    return [
        UnreadDelivery(outbox_report(tx, gateway.home, each), get_run(tx, each.run_id).expert)
        for each in page.items
    ]
