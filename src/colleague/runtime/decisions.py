"""One decision of a person: what runs then, and the grant that may come with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from colleague.errors import UsageError
from colleague.experts.runs.redacted_report import approval_report, granted_text
from colleague.home import Home
from colleague.origin import Origin
from colleague.run_document import ApprovalDocument
from colleague.runtime.merge_patch import merged
from colleague.runtime.requests import DecisionRequest, GivenGrant
from colleague.store.approvals import Answer, Approval, decide, get_approval
from colleague.store.audit import Change, note_change
from colleague.store.call_target import CallTarget
from colleague.store.grants import give_grant
from colleague.store.journal import get_call
from colleague.store.lookup import full_id
from colleague.store.tables import approvals
from colleague.store.tx import Tx


def decide_one(
    tx: Tx, home: Home, request: DecisionRequest, origin: Origin
) -> tuple[ApprovalDocument, GivenGrant | None]:
    """Decides one question and gives the grant that comes with it, both with an entry in the audit log.

    Raises when it does not count."""
    seen = get_approval(tx, full_id(tx, approvals, "approval", request.approval))
    digest = request.digest or seen.digest
    edited = _edited(seen, request)
    answer = Answer(seen.id, digest, request.decision, request.by, request.note, edited)
    decided = decide(tx, answer)
    grant_id = _give_grant(tx, seen, request, edited)
    given = GivenGrant(grant_id, granted_text(tx, home, grant_id)) if grant_id else None
    _note(tx, seen, request, replace(origin, who=request.by), edited is not None)
    if grant_id:
        about = {"operation": seen.operation, "lasts_ms": request.grant_ms, "only": list(request.grant_only)}
        given_by = replace(origin, who=request.by)
        note_change(tx, given_by, Change("grant.give", grant_id, seen.expert, seen.run_id, about))
    return approval_report(tx, home, decided), given


def _note(tx: Tx, seen: Approval, request: DecisionRequest, origin: Origin, edited: bool) -> None:
    about = {"operation": seen.operation, "kind": seen.kind, "note": request.note, "edited": edited}
    note_change(tx, origin, Change(f"approval.{request.decision}", seen.id, seen.expert, seen.run_id, about))


def _edited(seen: Approval, request: DecisionRequest) -> str | None:
    """What a person made of the arguments, or says in the tool's place."""
    if request.decision == "respond" and not str(json.loads(request.answer or '""')).strip():
        raise UsageError("respond needs an answer", hint="say what the agent is told in the tool's place")
    if request.changes is None:
        return request.answer
    if request.decision != "approve" or request.answer is not None:
        raise UsageError("changes go with approve, and without whole arguments", hint="leave one of them out")
    return json.dumps(merged(json.loads(seen.arguments), request.changes), ensure_ascii=False)


def _give_grant(tx: Tx, seen: Approval, request: DecisionRequest, edited: str | None) -> str | None:
    if request.grant_ms is None:
        if request.grant_only:
            raise UsageError("only limits a grant, and none is given", hint="say for how long: --grant 30m")
        return None
    run_id, lasts = (seen.run_id, None) if request.grant_ms == 0 else (None, request.grant_ms)
    return give_grant(
        tx,
        seen.expert,
        seen.operation,
        _granted_target(tx, seen, request),
        by=request.by,
        run_id=run_id,
        lasts_ms=lasts,
        only=_only(request.grant_only, json.loads(edited or seen.arguments)),
        approval_id=seen.id,
    )


def _granted_target(tx: Tx, seen: Approval, request: DecisionRequest) -> CallTarget:
    """What the grant is bound to. Raises UsageError where none can be given."""
    if seen.kind != "confirm" or request.decision != "approve":
        what = seen.kind if seen.kind != "confirm" else request.decision
        raise UsageError(f"a grant spares a confirm, and this is {what}", hint="decide without --grant")
    call = get_call(tx, seen.call_id) if seen.call_id else None
    if call is not None and not call.server:
        hint = "decide without --grant; each change of such a file is asked about"
        raise UsageError(f"a grant is for tools of MCP servers, and {seen.operation} is none", hint=hint)
    target = CallTarget.of_json(call.target) if call else None
    if target is None:
        raise UsageError(
            "this question was asked by an older Colleague, so a grant could not be bound to a server",
            hint="decide without --grant; a grant can be given with the next one",
        )
    return target


def _only(names: Sequence[str], arguments: dict[str, Any]) -> dict[str, Any]:
    missing = [name for name in names if name not in arguments]
    if missing:
        there = ", ".join(map(repr, arguments)) or "none"
        raise UsageError(f"the call has no argument {missing[0]!r}", hint=f"its arguments are: {there}")
    return {name: arguments[name] for name in names}
