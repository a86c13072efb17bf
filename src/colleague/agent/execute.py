"""Whether a call may be made at this moment; a call that had begun already is the matter of `send.py`.

It needs an automatic tier, a live grant or a recorded approval of exactly what would run, and asks the policy
again at that moment."""

from __future__ import annotations

import json
from typing import Any

from colleague.agent.call_end import end_call
from colleague.agent.call_result import Result
from colleague.agent.gate import Verdict
from colleague.agent.hook_points import refused_by_plugin
from colleague.agent.send import send
from colleague.agent.session import Session
from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.hooks.events import BeforeToolCall
from colleague.store.approvals import Approval, Ask, raise_asks
from colleague.store.grants import WantedCall, use_grant
from colleague.store.journal import Call
from colleague.store.run import fenced
from colleague.store.tables import approvals as approvals_table
from colleague.store.tables import calls as calls_table
from colleague.store.tx import Tx

DRAFTED = "Left as a draft for a person; this step is done."


async def execute(session: Session, call: Call, approval: Approval | None) -> None:
    """Makes one call, if it may be made now."""
    tool = session.run_spec.toolbox.get(call.operation)
    if tool is None:
        gone = session.run_spec.toolbox.unknown(call.operation)
        await end_call(session, call, "refused", Result(gone), error=True)
        return
    try:
        arguments = _arguments(tool.spec, call, approval)
    except BadArguments as error:
        await _void(session, call, approval, str(error))
        return
    verdict = session.run_spec.gate.judge(tool.spec, arguments)
    if verdict.kind in ("draft", "refuse"):
        await _tighten(session, call, approval, verdict)
        return
    refusal = await _forbidden(session, call, tool.spec, verdict, approval)
    if refusal:
        await _void(session, call, approval, refusal)
        return
    if approval is not None and session.hooks.has(BeforeToolCall.hook):
        blocked = await refused_by_plugin(session, tool.spec.name, arguments)
        if blocked:
            await _tighten(session, call, approval, Verdict("refuse", call.tier, blocked))
            return
    await send(session, call, tool, arguments)


def _arguments(spec: ToolSpec, call: Call, approval: Approval | None) -> dict[str, Any]:
    """The call's arguments, or what a person made of them; they must fit the tool as it is now."""
    edited = approval.answer if approval and approval.decision == "approve" else None
    return checked_arguments(spec, edited or call.arguments)


async def _forbidden(
    session: Session, call: Call, spec: ToolSpec, verdict: Verdict, approval: Approval | None
) -> str:
    """Why the call may not be made now; empty when it may."""
    if verdict.kind == "allow" and call.status == "allowed":
        return ""
    if await _granted(session, call, spec):
        return ""
    if approval is None or approval.decision not in ("approve", "again"):
        return "nobody has approved this"
    seen = session.run_spec.digest_of(spec, json.loads(call.arguments))
    return "" if seen == approval.digest else "the tool has changed since it was approved"


async def _granted(session: Session, call: Call, spec: ToolSpec) -> bool:
    """A grant never decides a question already raised."""
    if call.status != "allowed":
        return False
    expert = session.conversation.run.expert
    wanted = WantedCall(call.operation, session.run_spec.target_of(spec), json.loads(call.arguments))
    return await session.conversation.write(lambda tx: use_grant(tx, expert, session.run_id, wanted))


async def _tighten(session: Session, call: Call, approval: Approval | None, verdict: Verdict) -> None:
    """The policy has become stricter since the call was proposed: a yes given before no longer counts."""
    reason = verdict.reason or f"{call.operation} is {verdict.tier} now"
    channel = session.run_spec.draft_channel
    draft = Ask(call.id, "draft", call.operation, call.arguments, call.digest, reason, channel=channel)

    def work(tx: Tx) -> None:
        run = fenced(tx, session.conversation.hold, lane=True)
        if approval is not None:
            tx.update(approvals_table, {"id": approval.id}, status="void", note=reason)
        if verdict.kind == "draft":
            raise_asks(tx, run, [draft])

    await session.conversation.write(work)
    if verdict.kind == "draft":
        await end_call(session, call, "drafted", Result(DRAFTED))
    else:
        await end_call(session, call, "refused", Result(reason), error=True)


async def _void(session: Session, call: Call, approval: Approval | None, reason: str) -> None:
    """What was approved is not what would run: shown as void, and asked anew (or left as a draft)."""
    tool = session.run_spec.toolbox.get(call.operation)
    digest = session.run_spec.digest_of(tool.spec, json.loads(call.arguments)) if tool else call.digest
    target = session.run_spec.target_of(tool.spec).to_json() if tool else call.target
    now = {"status": "asked", "digest": digest, "target": target, "note": reason}

    def work(tx: Tx) -> None:
        fenced(tx, session.conversation.hold, lane=True)
        if approval is not None:
            tx.update(approvals_table, {"id": approval.id}, status="void", note=reason)
        tx.update(calls_table, {"id": call.id}, **now)

    await session.conversation.write(work)
