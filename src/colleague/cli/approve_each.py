"""Going through what waits for a person, one question after the other, with one letter each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import typer

from colleague.cli.approval_view import question_lines
from colleague.cli.argument_edit import ArgumentEdit
from colleague.cli.output import CROSS, note, note_as_is
from colleague.errors import UsageError
from colleague.runtime.requests import DecisionRequest

if TYPE_CHECKING:
    from colleague.cli.decide import DecisionOutcome
    from colleague.run_document import ApprovalDocument, Decision

CHOICES: dict[str, dict[str, str]] = {
    "confirm": {"y": "[y]es", "n": "[n]o", "e": "[e]dit", "r": "[r]espond"},
    "low_confidence": {"y": "[y]es", "n": "[n]o", "e": "[e]dit", "r": "[r]espond"},
    "elicitation": {"y": "[y]es", "n": "[n]o", "e": "[e]dit"},
    "learning": {"y": "[y]es", "n": "[n]o"},
    "draft": {"d": "[d]one", "n": "[n]ot done"},
    "uncertain": {"h": "it [h]appened", "a": "run it [a]gain", "g": "[g]ive up"},
}
_ALWAYS = {"s": "[s]kip", "q": "[q]uit"}
DECISIONS: dict[str, Decision] = {
    "y": "approve",
    "e": "approve",
    "r": "respond",
    "d": "done",
    "h": "happened",
    "a": "again",
    "g": "give_up",
}


class Quit(Exception):
    """The person has had enough; what was decided stays decided."""


@dataclass
class ApprovalRounds:
    """Rounds through what waits; nothing is asked about twice.

    `pending` and `decide` each reach the service by themselves: while a person thinks, this process holds
    neither the home nor a loop, so other commands work and Ctrl-C ends this one at once."""

    pending: Callable[[], Sequence[ApprovalDocument]]
    decide: Callable[[ApprovalDocument, DecisionRequest], DecisionOutcome]
    by: str
    """Who decides."""
    asked: set[str] = field(default_factory=set)
    over: bool = False

    def decide_new(self) -> Iterator[DecisionOutcome]:
        """Asks about each question that is new since the last round; the decisions as they are made."""
        waiting = [each for each in self.pending() if each["id"] not in self.asked]
        for number, approval in enumerate(waiting, 1):
            self.asked.add(approval["id"])
            note(f"\n{number} of {len(waiting)}\n")
            try:
                decided = self._decide(approval)
            except Quit:
                self.over = True
                return
            if decided is not None:
                yield decided

    def _decide(self, approval: ApprovalDocument) -> DecisionOutcome | None:
        """Asks until it is decided or skipped."""
        for line in question_lines(approval, typed=False):
            note_as_is(line)
        with _kept(ArgumentEdit(approval)) as edit:
            while (request := _ask(edit, self.by)) is not None:
                decided = self.decide(approval, request)
                refusal = decided.answer.refusal
                if refusal is None:
                    edit.end(decided=True)
                if refusal is None or refusal.code != "wrong-arguments":
                    return decided
                note(f"{CROSS} {refusal.message}\n  e goes on with what you wrote, y runs it as it was asked")
        return None


@contextmanager
def _kept(edit: ArgumentEdit) -> Iterator[ArgumentEdit]:
    """Whoever leaves a question undecided is told where the text is that they wrote for it."""
    try:
        yield edit
    finally:
        if kept := edit.end(decided=False):
            note(f"\n{kept}")


def _ask(edit: ArgumentEdit, by: str) -> DecisionRequest | None:
    """One decision of a person; None when they leave the question as it is."""
    approval = edit.approval
    key = _key(approval)
    if key == "q":
        raise Quit
    if key == "s":
        return None
    request = decision_of(key, approval, by)
    if key == "e":
        return _edited(request, edit)
    if key == "r":
        return replace(
            request, answer=json.dumps(typer.prompt("Tell the agent", err=True), ensure_ascii=False)
        )
    if request.decision == "reject":
        return replace(
            request, note=typer.prompt("Why (the agent is told)", "", show_default=False, err=True)
        )
    return request


def decision_of(key: str, approval: ApprovalDocument, by: str) -> DecisionRequest:
    """What a key of `CHOICES` decides about a question as it was seen."""
    decision = DECISIONS.get(key) or ("not_done" if approval["kind"] == "draft" else "reject")
    return DecisionRequest(approval["id"], decision, by, approval["digest"])


def _key(approval: ApprovalDocument) -> str:
    choices = CHOICES[approval["kind"]] | _ALWAYS
    while True:
        typed = typer.prompt(f"\n{'  '.join(choices.values())}", err=True, prompt_suffix="  ").strip().lower()
        if typed[:1] in choices:
            return str(typed[:1])
        note(f"{typed!r} is none of: {', '.join(choices)}")


def _edited(request: DecisionRequest, edit: ArgumentEdit) -> DecisionRequest | None:
    try:
        changes = edit.changes()
    except UsageError as error:
        note(f"{CROSS} {error.message}")
        return _ask(edit, request.by)
    if not changes:
        note("Nothing was changed.")
        return _ask(edit, request.by)
    return replace(request, changes=changes)
