"""What experts told in the main session: results in words, and questions as they stand now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from colleague.experts.runs.redacted_report import outbox_report
from colleague.experts.runs.tools.propose_learning import FIELDS
from colleague.gateway.page.fields import ReadableField, readable_fields
from colleague.gateway.page.inbox_list import Question, question_of
from colleague.gateway.page.markdown import markdown_html
from colleague.home import Home
from colleague.run_document import QUESTIONS, ApprovalDocument
from colleague.session_document import ItemDocument
from colleague.store.approvals import Approval
from colleague.store.main_news import LEARNING, SOURCE
from colleague.store.outbox import OutboxMessage
from colleague.store.tables import approvals, outbox
from colleague.store.tx import Tx

_HEADS = {"delivery": "has finished", "escalation": "needs you for", "sla": "is late with"}


@dataclass(frozen=True)
class ShownDelivery:
    """A message to people. `question` is set when it asks for something; it is `below` when the question
    stands at the end of the conversation anyway."""

    kind: str
    head: str
    run_id: str
    html: Markup | None = None
    lines: Sequence[str] = ()
    outputs: Mapping[str, Sequence[ReadableField]] = field(default_factory=dict)
    """Fields of each object that the process returned; under no name those that are none."""
    question: Question | None = None
    below: bool = False

    @property
    def heading(self) -> str:
        """A card that is open says by itself what it is about."""
        return self.question.approval["expert"] if self.question and self.waits else self.head

    @property
    def waits(self) -> bool:
        return self.question is not None and self.question.approval["status"] == "pending"


@dataclass(frozen=True)
class DeliveryReader:
    """Reads what items of the main session tell of. `below`: questions that are shown elsewhere."""

    home: Home
    workspace: Path
    below: Collection[str] = ()

    def read(self, tx: Tx, items: Sequence[ItemDocument]) -> Mapping[str, ShownDelivery]:
        """By the source of the item. What is gone by now is left out."""
        found: dict[str, ShownDelivery] = {}
        for item in items:
            if item["source"].startswith(SOURCE):
                message_id = item["source"].removeprefix(SOURCE)
                for message in tx.find(OutboxMessage, outbox, {"id": message_id}):
                    found[item["source"]] = self._shown_delivery(tx, message)
        return found

    def _shown_delivery(self, tx: Tx, message: OutboxMessage) -> ShownDelivery:
        report = outbox_report(tx, self.home, message)
        body = report["body"] if isinstance(report["body"], dict) else {}
        asked = tx.find(Approval, approvals, {"id": message.subject}) if message.kind in QUESTIONS else []
        if asked:
            question = _readable(question_of(tx, self.home, self.workspace, asked[0]))
            below = question.approval["id"] in self.below
            head = _question_head(question)
            return ShownDelivery(message.kind, head, message.run_id, question=question, below=below)
        return _reported_delivery(message, body)


def _reported_delivery(message: OutboxMessage, body: dict[str, Any]) -> ShownDelivery:
    narrative = str(body.get("narrative") or "")
    told = [str(body[name]) for name in ("reason", "recommendation") if body.get(name)]
    what = str(body.get("process") or "a task")
    return ShownDelivery(
        message.kind,
        f"{body.get('expert') or 'A run'} {_HEADS.get(message.kind, 'tells of')} {what}",
        message.run_id,
        markdown_html(narrative) if narrative.strip() else None,
        told,
        _outputs(body.get("outputs")),
    )


def _outputs(given: Any) -> Mapping[str, Sequence[ReadableField]]:
    outputs = given if isinstance(given, dict) else {}
    objects = {name: value for name, value in outputs.items() if isinstance(value, dict)}
    rest = readable_fields({name: value for name, value in outputs.items() if name not in objects})
    found = {name.replace("_", " "): readable_fields(value) for name, value in objects.items()}
    return ({"": rest} if rest else {}) | found


def _readable(question: Question) -> Question:
    """A learning without what only programs need."""
    arguments = question.approval["arguments"]
    if not _is_learning(question.approval) or not isinstance(arguments, dict):
        return question
    kept = {name: arguments[name] for name in FIELDS if name in arguments}
    return replace(question, approval={**question.approval, "arguments": kept})


def _question_head(question: Question) -> str:
    """What a card that is folded says."""
    asked = question.approval
    if _is_learning(asked) and isinstance(asked["arguments"], dict):
        return f"{asked['expert']} wants to remember: {asked['arguments'].get('title', '')}"
    if asked["kind"] == "draft":
        return f"{asked['expert']} left a draft of {asked['operation']}"
    return f"{asked['expert']} asked about {asked['operation']}"


def _is_learning(asked: ApprovalDocument) -> bool:
    """One that a person writes down himself is a draft."""
    return asked["kind"] == "learning" or asked["operation"] == LEARNING
