"""Deciding questions from the command line: what was seen is what is decided, and each gets its own line."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from colleague.cli.argument_edit import ArgumentEdit, changes_of
from colleague.cli.client import Client, with_client
from colleague.cli.output import CROSS, TICK, note, plain, say, say_failure
from colleague.cli.run_view import end_with, say_documents
from colleague.cli.typed import typed
from colleague.duration import parse_positive_duration
from colleague.errors import ColleagueError, UsageError
from colleague.run_document import ApprovalDocument, Decision, RunDocument, short
from colleague.runtime.requests import DecisionAnswer, DecisionRequest, decided_runs

if TYPE_CHECKING:
    from colleague.cli.approve_each import ApprovalRounds

UNREACHABLE = 3
INTERRUPTED = 130
WHAT_IT_DID = {
    "approve": "approved",
    "reject": "rejected; it does not run",
    "respond": "answered in the tool's place; the agent goes on",
    "done": "noted as done by you",
    "not_done": "noted as not done",
    "happened": "noted as happened; it is not sent again",
    "again": "is sent again",
    "give_up": "given up",
}
OF_A_LEARNING = {
    "approve": "approved; it is written down, and later runs are told",
    "reject": "rejected; nothing is written down",
}


@dataclass
class Edits:
    """How a person changes what will run."""

    settings: tuple[str, ...] = ()
    in_editor: bool = False
    edit: ArgumentEdit | None = None

    def __bool__(self) -> bool:
        return bool(self.settings) or self.in_editor

    def require_one(self, approvals: Sequence[str], arguments: str) -> None:
        if self and len(approvals) > 1:
            raise UsageError("--set and --edit change one question", hint="name one ID")
        if sum((bool(self.settings), self.in_editor, bool(arguments))) > 1:
            raise UsageError("--set, --edit and --arguments exclude each other", hint="use one of them")

    def applied(self, request: DecisionRequest, seen: ApprovalDocument) -> DecisionRequest:
        if not self:
            return request
        changes = self._in_editor(seen) if self.in_editor else changes_of(seen, self.settings)
        if not changes:
            raise UsageError("nothing was changed, so nothing was decided", hint="approve it without --edit")
        return replace(request, changes=changes)

    def _in_editor(self, seen: ApprovalDocument) -> dict[str, Any]:
        self.edit = ArgumentEdit(seen)
        try:
            changes = self.edit.changes()
        except UsageError as error:
            kept = self.edit.end(decided=False)
            raise UsageError(
                error.message, hint=error.hint or "; ".join(filter(None, ("nothing was decided", kept)))
            ) from None
        if not changes:
            self.edit.end(decided=True)
        return changes

    def end(self, *, decided: bool) -> None:
        kept = self.edit.end(decided=decided) if self.edit else ""
        if kept and not typed().as_json:
            note(f"  {kept}")


@dataclass(frozen=True)
class SeenApproval:
    """What a person decides about, as it is now."""

    approval: ApprovalDocument
    run: RunDocument


@dataclass(frozen=True)
class DecisionOutcome:
    """What came of a decision, and the run as it was before."""

    before: RunDocument
    answer: DecisionAnswer


def decide_all(
    home: Path | None,
    endings: Sequence[str],
    decision: Decision,
    *,
    reason: str = "",
    answer: str | None = None,
    grant: str = "",
    only: tuple[str, ...] = (),
    edits: Edits | None = None,
    as_json: bool,
) -> None:
    lasts = _grant_ms(grant) if grant else None
    if only and not grant:
        raise UsageError("--only limits a grant, and none is given", hint="say for how long: --grant 30m")
    who = getpass.getuser()
    requests = [DecisionRequest(ending, decision, who, "", reason, answer, lasts, only) for ending in endings]
    edits = edits or Edits()
    if edits:  # an editor may be open for long: nobody is kept from the home meanwhile
        seen = with_client(home, lambda using: _seen(using, requests), looks=True)
        requests = [_edited(each, seen, edits) for each in requests]
    end_with(with_client(home, lambda using: _decide(using, requests, edits, as_json)))


def decide_each(home: Path | None, *, as_json: bool) -> None:
    """Everything that waits, one by one; what comes up meanwhile is asked about, too."""
    from colleague.cli.approve_each import ApprovalRounds

    if as_json or not sys.stdin.isatty():
        raise UsageError("name what to approve", hint="colleague approval list shows what waits")
    walk = ApprovalRounds(
        lambda: with_client(home, lambda using: using.runs.pending(), looks=True),
        lambda approval, request: with_client(home, lambda using: _decide_one(using, approval, request)),
        getpass.getuser(),
    )
    codes = [0]
    while not walk.over and (decided := _one_round(home, walk)):
        codes.append(_followed(home, decided))
    if not walk.asked:
        say("Nobody is being waited for.")
    end_with(max(codes))


def _one_round(home: Path | None, walk: ApprovalRounds) -> list[DecisionOutcome]:
    """Each decision is told as it is made. Ctrl-C leaves the runs that were decided about as they are."""
    decided: list[DecisionOutcome] = []
    try:
        for each in walk.decide_new():
            say_answer(each.answer)
            decided.append(each)
    except typer.Abort:
        note("")
        runs = decided_runs([each.answer for each in decided])
        with_client(home, lambda using: using.say_what_stays(runs), looks=True)
        raise typer.Exit(INTERRUPTED) from None
    return decided


def _followed(home: Path | None, decided: Sequence[DecisionOutcome]) -> int:
    answers, before = [each.answer for each in decided], [each.before for each in decided]
    code = with_client(home, lambda using: _follow_decided(using, answers, before, as_json=False))
    return 1 if any(answer.refusal for answer in answers) else code


async def _decide_one(using: Client, approval: ApprovalDocument, request: DecisionRequest) -> DecisionOutcome:
    before = await using.runs.run(approval["run_id"])
    [answer] = await using.service.decide([request])
    return DecisionOutcome(before, answer)


async def _decide(using: Client, requests: Sequence[DecisionRequest], edits: Edits, as_json: bool) -> int:
    """Each is answered in a line of its own; the runs that were decided about are followed."""
    seen = await _seen(using, requests)
    answers = await using.service.decide([_as_seen(each, seen) for each in requests])
    for answer in answers:
        say_answer(answer)
    edits.end(decided=not any(answer.refusal for answer in answers))
    before = [each.run for each in seen.values()]
    code = await _follow_decided(using, answers, before, as_json=as_json)
    return 1 if any(answer.refusal for answer in answers) else code


async def _follow_decided(
    using: Client, answers: Sequence[DecisionAnswer], before: Sequence[RunDocument], *, as_json: bool
) -> int:
    """Shows what comes of decisions. A run that had ended before is worked on, too (its learning is written
    down), and says no more."""
    runs = decided_runs(answers)
    ended = {document["id"] for document in before if document["status"] == "done"}
    documents = await using.follow([each for each in runs if each not in ended], quiet=as_json, before=before)
    past = await using.follow([each for each in runs if each in ended], quiet=True, before=before)
    told = [*documents, *past] if as_json else documents
    return await say_documents(using.runs, told, as_json=as_json) if told or as_json else 0


async def _seen(using: Client, requests: Sequence[DecisionRequest]) -> dict[str, SeenApproval]:
    """What cannot be found is left for the decision to say."""
    found = {}
    for request in requests:
        try:
            approval = await using.runs.approval(request.approval)
            found[request.approval] = SeenApproval(approval, await using.runs.run(approval["run_id"]))
        except ColleagueError as error:
            if error.exit_code == UNREACHABLE:
                raise
    return found


def _edited(request: DecisionRequest, seen: dict[str, SeenApproval], edits: Edits) -> DecisionRequest:
    """With what the person changes of what they look at."""
    found = seen.get(request.approval)
    return edits.applied(_as_seen(request, seen), found.approval) if found else request


def _as_seen(request: DecisionRequest, seen: dict[str, SeenApproval]) -> DecisionRequest:
    """With the digest of what the person looks at."""
    found = seen.get(request.approval)
    return request if found is None or request.digest else replace(request, digest=found.approval["digest"])


def say_answer(answer: DecisionAnswer) -> None:
    """One line: what the decision did, or why it does not count."""
    if answer.refusal is not None and typed().as_json:
        say_failure(
            answer.refusal.code, f"{short(answer.asked)}: {answer.refusal.message}", answer.refusal.hint
        )
    elif answer.refusal is not None:
        hint = f" ({answer.refusal.hint})" if answer.refusal.hint else ""
        note(f"{CROSS} {short(answer.asked)}: {answer.refusal.message}{hint}")
    elif answer.approval is not None:
        note(f"{TICK} {short(answer.approval['id'])} {_what_it_did(answer.approval)}")
    if answer.grant is not None:
        note(f"  grant {short(answer.grant.id)}: {plain(answer.grant.covers)}")


def _what_it_did(approval: ApprovalDocument) -> str:
    decision = approval["decision"] or ""
    if approval["kind"] == "learning":
        return f"{plain(str(approval['arguments'].get('title')))}: {OF_A_LEARNING.get(decision, 'decided')}"
    did = WHAT_IT_DID.get(decision, "decided")
    if decision == "approve" and approval["answer"] is not None:
        did += " with your changes"
    return f"{approval['operation']}: {did}"


def _grant_ms(lasts: str) -> int:
    """0 is for this run."""
    if lasts == "run":
        return 0
    try:
        return parse_positive_duration(lasts).milliseconds
    except ValueError as error:
        raise UsageError(f"--grant: {error}", hint="write run, or a time such as 30m") from None
