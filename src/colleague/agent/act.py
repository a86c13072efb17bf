"""Acting on a model answer: every call gets a result, in order, once, or a person is asked."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from colleague.agent.call_end import end_call, tell_end
from colleague.agent.call_result import Result, as_text
from colleague.agent.execute import execute
from colleague.agent.exits import Failed, Waiting
from colleague.agent.send import give_input, recover
from colleague.agent.session import Session
from colleague.agent.tool_input import has_asked, question_of
from colleague.store import journal
from colleague.store.approvals import Approval, Ask, Kind, parked_in, raise_asks
from colleague.store.ids import short
from colleague.store.journal import Call
from colleague.store.run import Hold, fenced
from colleague.store.sql import update
from colleague.store.tables import approvals as approvals_table
from colleague.store.tables import calls as calls_table
from colleague.store.tx import Tx

GO_ON = "Say so, and go on without it: what comes of it reaches you as a new turn. Do not call it again."
BEHIND_PARKED = (
    "Not run: an earlier call of the same answer waits for a person's yes. If this one does not depend on "
    "it, call it again."
)


async def act(session: Session) -> None:
    """Settles the open calls. Raises Waiting when only a person can, Failed when the step has."""
    while session.conversation.open_calls:
        ready = _ready(session)
        if ready:
            await asyncio.gather(*(_settle(session, call) for call in ready))
            await session.conversation.refresh_if_stale()
            continue
        asks = _asks(session)
        if session.run_spec.parks and asks:
            await _park(session, asks)
        elif await session.conversation.wait(asks):
            _tell_asked(session)
            raise Waiting


async def _park(session: Session, asks: list[Ask]) -> None:
    """The conversation goes on: the questions wait by themselves, and the agent is told that they do."""
    conversation = session.conversation

    def work(tx: Tx) -> None:
        run = fenced(tx, conversation.hold, lane=True)
        waiting = {each.digest: each.id for each in parked_in(tx, run.session_key) if not each.send}
        raised: dict[str | None, str] = {}
        for ask in asks:
            known = waiting.get(ask.digest) if ask.kind != "uncertain" else None
            raised[ask.call_id] = known or raise_asks(tx, run, [replace(ask, parked=True)])[0]
        for call in (each for each in conversation.open_calls if each.status != "started"):
            _settle_parked(tx, conversation.hold, call, raised.get(call.id))

    await conversation.write(work)
    await conversation.refresh()
    _tell_asked(session)


def _settle_parked(tx: Tx, hold: Hold, call: Call, approval_id: str | None) -> None:
    """A result for each call of the answer, so that the model can go on without the decision."""
    if approval_id is None:
        journal.settle_call(tx, hold, call.id, "not_run", Result(BEHIND_PARKED).to_json(), is_error=True)
    elif call.status == "unknown":
        text = f"It is not known whether this happened. A person is asked: approval {short(approval_id)}."
        tx.update(calls_table, {"id": call.id}, result=Result(f"{text} {GO_ON}").to_json(), ended_at=tx.now)
    else:
        text = f"Not run yet: it needs a person's yes and waits as approval {short(approval_id)}. {GO_ON}"
        journal.settle_call(tx, hold, call.id, "parked", Result(text).to_json())


def _ready(session: Session) -> list[Call]:
    """What can be settled now: everything before the first open question, and reading after it.

    Effects go one after another; several readings go together, and so does work that is handed over."""
    ready: list[Call] = []
    asked = handed_over = False
    for call in session.conversation.open_calls:
        if _needs_person(session, call):
            asked = True
        elif call.is_handed_over:
            handed_over = True
        elif call.status == "allowed" and _is_reading(session, call):
            ready.append(call)
        elif not asked and (not handed_over or call.tool == journal.DELEGATION):
            return ready or [call]
    return ready


def _is_reading(session: Session, call: Call) -> bool:
    tool = session.run_spec.toolbox.get(call.operation)
    return tool is not None and tool.spec.read_only


def _needs_person(session: Session, call: Call) -> bool:
    if has_asked(call):
        question = question_of(session, call)
        return question is not None and question.status == "pending"
    if call.status not in ("asked", "unknown"):
        return False
    approval = session.conversation.approval_of(call)
    return approval is None or approval.status == "pending"


def _asks(session: Session) -> list[Ask]:
    """The questions that have not been raised yet, all together."""
    missing = [
        call
        for call in session.conversation.open_calls
        if call.status in ("asked", "unknown") and session.conversation.approval_of(call) is None
    ]
    return [_ask(session, call) for call in missing]


def _ask(session: Session, call: Call) -> Ask:
    uncertain = call.status == "unknown"
    private = session.run_spec.private
    tool = session.run_spec.toolbox.get(call.operation)
    verdict = session.run_spec.gate.judge(tool.spec, json.loads(call.arguments)) if tool else None
    kind: Kind = "uncertain" if uncertain else verdict.question if verdict else "confirm"
    return Ask(
        call_id=call.id,
        kind=kind,
        operation=call.operation,
        arguments=call.arguments,
        digest=call.digest,
        reasoning=call.note or "",
        send=call.sends if uncertain else None,
        expires_ms=verdict.expires_ms if verdict and not uncertain else None,
        on_timeout=verdict.on_timeout if verdict else "reject",
        channel=session.run_spec.ask_channel,
        told=json.dumps(private.redact_document(json.loads(call.arguments)), ensure_ascii=False),
        parameters=json.dumps(tool.spec.parameters) if tool and not uncertain else None,
    )


def _tell_asked(session: Session) -> None:
    for approval in session.conversation.approvals:
        if approval.status == "pending":
            session.tell(
                "approval_requested",
                approval_id=approval.id,
                question=approval.kind,
                operation=approval.operation,
                arguments=json.loads(approval.arguments),
                digest=approval.digest,
            )


async def _settle(session: Session, call: Call) -> None:
    """One call that nobody needs to be asked about any more."""
    approval = session.conversation.approval_of(call)
    if has_asked(call):
        await give_input(session, call)
    elif call.status == "started":
        await recover(session, call)
    elif approval is None or call.status == "allowed":
        await execute(session, call, approval)
    elif approval.decision in ("reject", "give_up") or approval.status == "expired":
        await _reject(session, call, approval)
    elif approval.decision == "respond":
        await end_call(
            session,
            call,
            "answered",
            Result(as_text(json.loads(approval.answer or '""')), f"person:{approval.decided_by}"),
        )
    elif approval.decision == "happened":
        await _happened(session, call, approval)
    else:
        await execute(session, call, approval)


async def _happened(session: Session, call: Call, approval: Approval) -> None:
    said = json.loads(approval.answer) if approval.answer else "A person checked: it happened."
    await end_call(session, call, "finished", Result(as_text(said), f"person:{approval.decided_by}"))


async def _reject(session: Session, call: Call, approval: Approval) -> None:
    """The step has failed: this call is refused, later ones are not run, their questions are withdrawn."""
    who = f" by {approval.decided_by}" if approval.decided_by else ""
    why = f": {approval.note}" if approval.note else ""
    word = "given up" if approval.decision == "give_up" else "rejected"
    reason = f"{call.operation} was {word}{who}{why}"
    source = f"person:{approval.decided_by or ''}" if approval.status == "decided" else ""
    later = [
        each
        for each in session.conversation.open_calls
        if (each.position, each.place) > (call.position, call.place)
    ]

    def work(tx: Tx) -> None:
        hold = session.conversation.hold
        journal.settle_call(tx, hold, call.id, "refused", Result(reason, source).to_json(), is_error=True)
        for each in later:
            text = Result(f"not run, because {reason}", source).to_json()
            journal.settle_call(tx, hold, each.id, "not_run", text, is_error=True)
        open_ones = approvals_table.c.call_id.in_([each.id for each in later])
        undone = approvals_table.c.status.in_(("pending", "decided"))
        tx.execute(update(approvals_table).where(open_ones, undone).values(status="withdrawn", note=reason))

    await session.conversation.write(work)
    tell_end(session, call, "refused", reason, True)
    if session.run_spec.rejection == "fail":
        raise Failed(reason, retry=False)
