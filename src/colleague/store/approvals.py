"""Questions to a person: raised with the run's wait, decided once, first decision wins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.argument_check import misfits
from colleague.clock import iso
from colleague.errors import ColleagueError, NotFound
from colleague.main_names import MAIN_CHANNEL
from colleague.origin import THE_CLOCK
from colleague.run_document import ApprovalKind, ApprovalStatus, Decision
from colleague.store.accept import accept
from colleague.store.activity_lines import tell_asked, tell_decided
from colleague.store.audit import Change, note_change
from colleague.store.claims import wake_run
from colleague.store.delegations import awaited_by, let_go, note_questions
from colleague.store.ids import new_id, short
from colleague.store.inbox import SPOKEN, has_steered, turn_arrival
from colleague.store.outbox import mark_answered, outbox_about, put_in_outbox
from colleague.store.paging import Order, Page, count_rows
from colleague.store.record import columns_of, record
from colleague.store.run import Hold, Run, fenced, lock_run, tell_session
from colleague.store.session_entry import get_session
from colleague.store.session_items import NewItem, add_item
from colleague.store.sql import Expression, and_, bindparam, or_, select
from colleague.store.tables import approvals, calls, runs, sql_literal
from colleague.store.timers import clear_timer, set_timer
from colleague.store.tx import Tx
from colleague.store.usual_statements import PLUS_ONE

Kind = ApprovalKind

DECISIONS: dict[Kind, tuple[Decision, ...]] = {
    "confirm": ("approve", "reject", "respond"),
    "draft": ("done", "not_done"),
    "uncertain": ("happened", "again", "give_up"),
    "learning": ("approve", "reject"),
    "low_confidence": ("approve", "reject", "respond"),
    "elicitation": ("approve", "reject"),
}


_NOTICE: dict[Kind, str] = {
    "confirm": "approval",
    "low_confidence": "approval",
    "uncertain": "approval",
    "elicitation": "approval",
    "draft": "draft",
    "learning": "proposal",
}
"""What a notice of each kind is called in the outbox."""

LEARNINGS = "learnings"
"""The channel that writes approved learnings down."""

MOST_LEARNINGS = 200
FREE: tuple[Kind, ...] = ("draft", "learning")
"""Kinds that hold nobody up."""


class AlreadyDecided(ColleagueError):
    """The approval is decided already."""

    code = "already-decided"


class WrongDigest(ColleagueError):
    """What the person saw is not what would run."""

    code = "wrong-digest"


class WrongDecision(ColleagueError):
    """This kind of question has other answers."""

    code = "wrong-decision"


class WrongArguments(ColleagueError):
    """What a person made of the arguments does not fit the tool."""

    code = "wrong-arguments"


@dataclass(frozen=True)
class Approval:
    """One row of `approvals`."""

    id: str
    run_id: str
    call_id: str | None
    send: int | None
    kind: Kind
    expert: str
    operation: str
    arguments: str
    digest: str
    reasoning: str
    status: ApprovalStatus
    requested_at: int
    expires_at: int | None
    on_timeout: str
    decided_at: int | None
    decided_by: str | None
    decision: Decision | None
    note: str | None
    answer: str | None
    parameters: str | None = None
    """The JSON schema of the arguments, where a person may change them."""
    parked: bool = False
    """Whether the conversation goes on meanwhile: the decision becomes a turn of its own."""
    turn_run_id: str | None = None
    """The run of that turn."""

    @property
    def holds(self) -> bool:
        """A draft, a proposed learning or a parked question never holds its run."""
        return self.status == "pending" and self.kind not in FREE and not self.parked


@dataclass(frozen=True)
class Ask:
    """A question to be raised."""

    call_id: str | None
    kind: Kind
    operation: str
    arguments: str
    digest: str
    reasoning: str = ""
    send: int | None = None
    expires_ms: int | None = None
    on_timeout: str = "reject"
    channel: str | None = None
    """Where people are told of it."""
    told: str | None = None
    """The arguments as they are told, where that is not all of them."""
    parameters: str | None = None
    """The JSON schema of the arguments, where a person may change them."""
    parked: bool = False


@dataclass(frozen=True)
class Answer:
    """What a person said about one question."""

    approval_id: str
    digest: str
    decision: Decision
    by: str
    note: str = ""
    answer: str | None = None
    """Edited arguments, a response or a result, as JSON."""


_COLUMNS = columns_of(Approval, approvals)


def get_approval(tx: Tx, approval_id: str) -> Approval:
    found = tx.find(Approval, approvals, {"id": approval_id})
    if not found:
        raise NotFound(f"there is no approval {approval_id!r}")
    return found[0]


def approvals_of(tx: Tx, run_id: str) -> list[Approval]:
    return tx.find(Approval, approvals, {"run_id": run_id}, order=("requested_at", "id"))


def approvals_about(tx: Tx, call_ids: Sequence[str]) -> list[Approval]:
    """The questions about these calls, whichever runs they belong to."""
    if not call_ids:
        return []
    query = select(*_COLUMNS).where(approvals.c.call_id.in_(call_ids))
    return [record(Approval, row) for row in tx.all(query.order_by(approvals.c.requested_at))]


def parked_in(tx: Tx, session_key: str) -> list[Approval]:
    """The questions of a session that wait for a person while the conversation goes on."""
    waiting = approvals.c.status == sql_literal("pending"), approvals.c.parked == 1
    query = select(*_COLUMNS).join(runs, runs.c.id == approvals.c.run_id)
    query = query.where(*waiting, runs.c.session_key == session_key)
    return [record(Approval, row) for row in tx.all(query.order_by(approvals.c.requested_at))]


def pending_approvals(tx: Tx, limit: int | None = None) -> list[Approval]:
    """The oldest first; all of them, unless there is a limit."""
    query = select(*_COLUMNS).where(*_conditions()).order_by(approvals.c.requested_at).limit(limit)
    return [record(Approval, row) for row in tx.all(query)]


def approvals_page(
    tx: Tx, *, every: bool = False, learnings: bool | None = None, limit: int, after: str | None = None
) -> Page[Approval]:
    """The pending ones, the oldest first; or all, the newest first. `learnings`: only those, or none."""
    query = select(*_COLUMNS).where(*_conditions(every=every, learnings=learnings))
    order = Order(approvals, (approvals.c.requested_at,), descending=every)
    page = order.page(tx, query, limit=limit, after=after)
    return Page([record(Approval, row) for row in page.items], page.next_after)


def pending_learnings(tx: Tx, expert: str) -> list[Approval]:
    """What an expert proposes to learn, the oldest first."""
    mine = (*_conditions(learnings=True), approvals.c.expert == expert)
    query = select(*_COLUMNS).where(*mine).order_by(approvals.c.requested_at, approvals.c.id)
    return [record(Approval, row) for row in tx.all(query.limit(MOST_LEARNINGS))]


def count_approvals(tx: Tx, *, every: bool = False, learnings: bool | None = None) -> int:
    return count_rows(tx, approvals, _conditions(every=every, learnings=learnings))


def _conditions(*, every: bool = False, learnings: bool | None = None) -> list[Expression]:
    found = [] if every else [approvals.c.status == sql_literal("pending")]
    if learnings is not None:
        found.append((approvals.c.kind == "learning") if learnings else (approvals.c.kind != "learning"))
    return found


def raise_asks(tx: Tx, run: Run, asks: Sequence[Ask]) -> list[str]:
    """Stores the questions of a locked run; notifying comes after the commit."""
    return [_raise(tx, run, ask) for ask in asks]


def _raise(tx: Tx, run: Run, ask: Ask) -> str:
    approval_id = new_id()
    expires_at = None if ask.expires_ms is None else tx.now + ask.expires_ms
    tx.insert(
        approvals,
        id=approval_id,
        run_id=run.id,
        call_id=ask.call_id,
        send=ask.send,
        kind=ask.kind,
        expert=run.expert,
        operation=ask.operation,
        arguments=ask.arguments,
        digest=ask.digest,
        reasoning=ask.reasoning,
        status="pending",
        requested_at=tx.now,
        expires_at=expires_at,
        on_timeout=ask.on_timeout,
        parameters=ask.parameters,
        parked=int(ask.parked),
    )
    if expires_at is not None:
        set_timer(tx, "expiry", approval_id, run.id, expires_at)
    if ask.channel is not None:
        put_in_outbox(tx, run.id, _NOTICE[ask.kind], approval_id, ask.channel, _question_body(run, ask))
    tell_asked(tx, run, approval_id, ask.kind, ask.operation)
    tell_session(tx, run)
    return approval_id


def _question_body(run: Run, ask: Ask) -> str:
    body = {
        "expert": run.expert,
        "process": run.process,
        "operation": ask.operation,
        "arguments": json.loads(ask.told or ask.arguments),
        "reason": ask.reasoning,
    }
    return json.dumps(body, ensure_ascii=False)


def wait(tx: Tx, hold: Hold, asks: Sequence[Ask] = (), *, working_ms: int | None = None) -> bool:
    """Raises the questions and lets go of the run, in one commit. False when it can go on already.

    What holds the run is read again under the lock: a decision may have come meanwhile. `working_ms` is
    the working time of the attempt so far."""
    run = fenced(tx, hold, lane=True)
    raise_asks(tx, run, asks)
    if run.transcript is not None and has_steered(tx, run.session_key):
        let_go(tx, run.id, SPOKEN)
    if can_go_on(tx, run.id):
        return False
    worked = run.working_ms if working_ms is None else working_ms
    free = {"status": "waiting", "ready": 0, "worker": None, "lease_until": None, "epoch": PLUS_ONE}
    tx.update(runs, {"id": run.id}, working_ms=worked, **free)
    tell_session(tx, run)
    if waits_for_person(tx, run.id):
        note_questions(tx, run)
    return True


_COUNTS = or_(*(approvals.c.status == sql_literal(status) for status in ("pending", "decided", "expired")))
_OPEN_CALL = and_(approvals.c.call_id.is_not(None), calls.c.result.is_(None), _COUNTS)
_WITHOUT_CALL = and_(approvals.c.call_id.is_(None), approvals.c.status == "pending")
_OPEN = (
    select(approvals.c.call_id, approvals.c.status, calls.c.position, calls.c.place)
    .select_from(approvals.outerjoin(calls, approvals.c.call_id == calls.c.id))
    .where(
        approvals.c.run_id == bindparam("run"),
        *(approvals.c.kind != sql_literal(kind) for kind in FREE),
        or_(_OPEN_CALL, _WITHOUT_CALL),
    )
    .order_by(calls.c.position, calls.c.place, approvals.c.requested_at, approvals.c.id)
)


def can_go_on(tx: Tx, run_id: str) -> bool:
    """Whether the next call in order can be settled: the newest question about it is not open, and it does
    not wait for a child."""
    newest = {row.call_id: row for row in tx.execute(_OPEN, {"run": run_id})}
    first = next(iter(newest.values()), None)
    awaited = awaited_by(tx, run_id)
    if awaited and (first is None or first.position is None or awaited[0] < (first.position, first.place)):
        return False
    return first is None or first.status != "pending"


def waits_for_person(tx: Tx, run_id: str) -> bool:
    """Whether a question holds this run; else a run that waits does so for work that it handed over."""
    return any(each.holds for each in approvals_of(tx, run_id))


def decide(tx: Tx, answer: Answer) -> Approval:
    """Records a decision, and wakes the run when it can go on. Raises when it does not count."""
    run = lock_run(tx, get_approval(tx, answer.approval_id).run_id)
    approval = get_approval(tx, answer.approval_id)
    _check(approval, answer, ended=run.status == "done")
    values = {
        "status": "decided",
        "decision": answer.decision,
        "decided_at": tx.now,
        "decided_by": answer.by,
        "note": answer.note,
        "answer": answer.answer,
    }
    tx.update(approvals, {"id": approval.id}, **values)
    tell_decided(tx, approval, answer.decision, answer.by)
    tell_session(tx, run)
    clear_timer(tx, "expiry", approval.id)
    mark_answered(tx, run.id, approval.id, answer.by)
    if approval.kind == "learning" and answer.decision == "approve":
        put_in_outbox(tx, run.id, "learning", approval.id, LEARNINGS, approval.arguments)
    if approval.parked:
        _begin_turn(tx, run, approval)
    elif run.status == "done":
        _settle_afterwards(tx, approval, answer)
    elif can_go_on(tx, run.id):
        wake_run(tx, run)
    return get_approval(tx, approval.id)


def _begin_turn(tx: Tx, run: Run, approval: Approval) -> None:
    """The conversation went on meanwhile, so what was decided is a turn of its own. The lane is locked."""
    entry = get_session(tx, run.session_key)
    arrival = turn_arrival(run, "approval", {"approval": approval.id})
    accepted = accept(tx, replace(arrival, transcript=entry.id))
    tx.update(approvals, {"id": approval.id}, turn_run_id=accepted.run_id)
    decided = get_approval(tx, approval.id)
    who = f" by {decided.decided_by}" if decided.decided_by else ""
    note = f": {decided.note}" if decided.note else ""
    text = f"{decided.operation} was {_past(decided)}{who}{note} (approval {short(decided.id)})"
    source = f"approval:{decided.id}"
    item = NewItem("event", text, source=source, run_id=accepted.run_id, event_id=accepted.event_id)
    add_item(tx, run.session_key, item)


def _settle_afterwards(tx: Tx, approval: Approval, answer: Answer) -> None:
    """No worker will come back to a run that has ended, so the call gets its result here."""
    said = answer.answer or json.dumps(f"{answer.by} says: {answer.decision.replace('_', ' ')}")
    status = "finished" if answer.decision == "happened" else "refused"
    result = json.dumps(
        {"text": _text(json.loads(said)), "source": f"person:{answer.by}"}, ensure_ascii=False
    )
    tx.update(
        calls, {"id": approval.call_id, "status": "unknown"}, status=status, result=result, ended_at=tx.now
    )


def _text(said: Any) -> str:
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _check(approval: Approval, answer: Answer, *, ended: bool) -> None:
    if approval.status not in ("pending",):
        who = f" by {approval.decided_by}" if approval.decided_by else ""
        when = f", at {iso(approval.decided_at)}" if approval.decided_at else ""
        raise AlreadyDecided(
            f"approval {approval.id[-8:]} was {_past(approval)}{who} already{when}",
            hint=f"see it with: colleague approval show {approval.id[-8:]}",
        )
    if approval.digest != answer.digest:
        raise WrongDigest(
            f"approval {approval.id[-8:]} has another digest than the one you decided on",
            hint="look at it again, then decide",
        )
    if ended and answer.decision == "again" and not approval.parked:
        raise WrongDecision("the run has ended, so nothing is sent again", hint="answers: happened, give_up")
    if answer.decision not in DECISIONS[approval.kind]:
        raise WrongDecision(
            f"{answer.decision} is no answer to a question of kind {approval.kind}",
            hint=f"answer with: {' or '.join(_commands(approval))}",
        )
    _check_edited(approval, answer)


def _commands(approval: Approval) -> list[str]:
    """What a person types to answer."""
    ending, words = approval.id[-8:], [each.replace("_", "-") for each in DECISIONS[approval.kind]]
    if approval.kind == "uncertain":
        return [f"colleague resolve {ending} {each}" for each in words]
    if approval.kind == "learning":
        return [f"colleague learning {each} {ending}" for each in words]
    return [f"colleague {each} {ending}" for each in words]


def _check_edited(approval: Approval, answer: Answer) -> None:
    """Refused here, where the person can still correct it; the question stays as it is."""
    edited = answer.answer
    if approval.kind == "elicitation":
        edited = edited or approval.arguments
    if answer.decision != "approve" or edited is None or approval.parameters is None:
        return
    problems = misfits(json.loads(approval.parameters), json.loads(edited))
    if problems:
        raise WrongArguments(
            f"the arguments of {approval.operation} do not fit: {'; '.join(problems)}",
            hint="nothing was decided; correct them and decide again",
        )


def _past(approval: Approval) -> str:
    """How a question ended, as people say it."""
    said = {
        "approve": "approved",
        "reject": "rejected",
        "respond": "answered",
        "done": "done",
        "not_done": "declined",
        "happened": "said to have happened",
        "again": "permitted once more",
        "give_up": "given up",
    }
    return said.get(approval.decision or "", "settled" if approval.decision else approval.status)


def expire(tx: Tx, approval_id: str) -> None:
    """Its time is up: rejected, or escalated and still open. The caller has claimed the timer."""
    approval = get_approval(tx, approval_id)
    if approval.status != "pending":
        return
    run = lock_run(tx, approval.run_id)
    if approval.on_timeout != "reject":
        _escalate(tx, run, approval)
        return
    late = {
        "status": "expired",
        "decision": "reject",
        "decided_at": tx.now,
        "note": "nobody answered in time",
    }
    tx.update(approvals, {"id": approval_id, "status": "pending"}, **late)
    tell_decided(tx, approval, "reject", "nobody: its time is up")
    about = {"operation": approval.operation, "kind": approval.kind}
    note_change(tx, THE_CLOCK, Change("approval.expire", approval.id, approval.expert, run.id, about))
    if approval.parked:
        _begin_turn(tx, run, approval)
    elif can_go_on(tx, run.id):
        wake_run(tx, run)


def _escalate(tx: Tx, run: Run, approval: Approval) -> None:
    """Nobody answered in time: people are told again, and a late answer still counts."""
    first = outbox_about(tx, run.id, _NOTICE[approval.kind], approval.id)
    arguments = json.loads(first.body)["arguments"] if first else json.loads(approval.arguments)
    body = {
        "expert": run.expert,
        "process": run.process,
        "reason": f"nobody has answered {approval.kind} {approval.id[-8:]} in time",
        "context": {"operation": approval.operation, "arguments": arguments},
        "recommendation": f"decide it: colleague approval show {approval.id[-8:]}",
    }
    channel = first.channel if first else MAIN_CHANNEL
    put_in_outbox(tx, run.id, "escalation", approval.id, channel, json.dumps(body, ensure_ascii=False))
