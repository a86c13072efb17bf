"""Questions that a tool asks while at work: stored with the call, answered by a person, given back once.

A call that waits for its answer is *started*, and its note holds what the tool wants back. The note is taken
away right before the answer is given: a crash after that leaves a call that nobody knows the end of."""

from __future__ import annotations

import hashlib
import json

from colleague.agent.session import Session
from colleague.agent.tool import InputNeeded, ToolInput
from colleague.store.approvals import Approval, Ask, raise_asks
from colleague.store.journal import Call
from colleague.store.run import fenced
from colleague.store.tables import calls
from colleague.store.tx import Tx

EXPIRES_MS = 24 * 3600 * 1000
_MARK = "input:"
_DIGEST_CHARS = 32
"""Of the question itself. The rest of the digest binds it to the call and the send."""


async def ask_input(session: Session, call: Call, send: int, needed: InputNeeded) -> None:
    """Stores the question with what its answer needs, in one commit."""
    note = _MARK + json.dumps({"digest": needed.digest, "url": bool(needed.url), "pending": needed.pending})
    ask = Ask(
        call_id=call.id,
        kind="elicitation",
        operation=call.operation,
        arguments=json.dumps(needed.defaults, ensure_ascii=False),
        digest=needed.digest
        + hashlib.sha256(f"{call.digest} {send} {needed.digest}".encode()).hexdigest()[:32],
        reasoning=needed.message,
        send=send,
        expires_ms=EXPIRES_MS,
        channel=session.run_spec.ask_channel,
        parameters=None if needed.url else json.dumps(needed.schema, ensure_ascii=False),
    )

    def work(tx: Tx) -> None:
        run = fenced(tx, session.conversation.hold, lane=True)
        tx.update(calls, {"id": call.id, "status": "started"}, note=note)
        raise_asks(tx, run, [ask])

    await session.conversation.write(work)
    await session.conversation.refresh()


def has_asked(call: Call) -> bool:
    """Whether its tool waits for an answer that it was not given yet."""
    return call.status == "started" and (call.note or "").startswith(_MARK)


def question_of(session: Session, call: Call) -> Approval | None:
    """The newest question of this send."""
    about = [
        each
        for each in session.conversation.approvals
        if (each.call_id, each.kind, each.send) == (call.id, "elicitation", call.sends)
    ]
    return about[-1] if about else None


async def take_input(session: Session, call: Call, *, refused: bool) -> ToolInput:
    """The answer, and the note is gone. `refused`: the tool may no longer do what it asks about."""
    stored = json.loads((call.note or "").removeprefix(_MARK))
    question = question_of(session, call)
    await session.conversation.write(lambda tx: tx.update(calls, {"id": call.id}, note=None))
    answer = _answer(question, stored["digest"], url=stored["url"])
    action = "cancel" if refused else answer.action
    return ToolInput(answer.digest, action, answer.content, stored["pending"])


def _answer(question: Approval | None, digest: str, *, url: bool) -> ToolInput:
    if question is None or question.status != "decided":
        return ToolInput(digest, "cancel")
    if question.decision != "approve":
        return ToolInput(digest, "decline")
    content = json.loads(question.answer or question.arguments)
    return ToolInput(digest, "accept", None if url else content)


def earlier_inputs(session: Session, call: Call) -> tuple[ToolInput, ...]:
    """What was answered to earlier sends of the same call: the same question is not asked twice."""
    about = [each for each in (call.id, call.parked_from) if each]
    found = [
        each
        for each in session.conversation.approvals
        if each.call_id in about and each.kind == "elicitation" and each.status == "decided"
    ]
    return tuple(_answer(each, each.digest[:_DIGEST_CHARS], url=each.parameters is None) for each in found)
