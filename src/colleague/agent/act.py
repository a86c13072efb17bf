"""Acting on a model answer: every call gets a result, in order, once, or a person is asked.

`execute` is the only place that makes a call. It needs an automatic tier, a live grant or a recorded
approval of exactly what would run, and asks the policy again at that moment."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import update

from colleague.agent.conversation import Result, as_text
from colleague.agent.exits import Completed, Failed, Waiting
from colleague.agent.gate import Verdict
from colleague.agent.hook_points import persisted, refused_by_plugin, tell_call_made
from colleague.agent.render import MAY_HAVE_HAPPENED
from colleague.agent.sampling import sample_for_server
from colleague.agent.session import Session
from colleague.agent.streaming.answer import without_tags
from colleague.agent.tool import (
    AskingTool,
    DelegatingTool,
    InputNeeded,
    NotSent,
    PersonNeeded,
    PreparedTool,
    SessionTool,
    Tool,
    ToolOutput,
    ToolRequest,
    ToolSpec,
    UnknownEnd,
)
from colleague.agent.tool_input import ask_input, earlier_inputs, has_asked, question_of, take_input
from colleague.agent.toolbox import BadArguments, checked_arguments, digest_of, target_of
from colleague.errors import ColleagueError
from colleague.failpoints import failpoint
from colleague.hooks.events import BeforeToolCall, ToolResultPersist
from colleague.store import journal
from colleague.store.approvals import Approval, Ask, Kind, parked_in, raise_asks
from colleague.store.call_target import CallTarget
from colleague.store.grants import WantedCall, use_grant
from colleague.store.ids import short
from colleague.store.journal import Call
from colleague.store.run import Hold, fenced
from colleague.store.tables import approvals as approvals_table
from colleague.store.tables import calls as calls_table
from colleague.store.tx import Tx

MOST_SENDS = 3
DRAFTED = "Left as a draft for a person; this step is done."
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
        await _give_input(session, call)
    elif call.status == "started":
        await _recover(session, call)
    elif approval is None or call.status == "allowed":
        await execute(session, call, approval)
    elif approval.decision in ("reject", "give_up") or approval.status == "expired":
        await _reject(session, call, approval)
    elif approval.decision == "respond":
        await _end(
            session,
            call,
            "answered",
            Result(as_text(json.loads(approval.answer or '""')), f"person:{approval.decided_by}"),
        )
    elif approval.decision == "happened":
        await _happened(session, call, approval)
    else:
        await execute(session, call, approval)


async def _end(
    session: Session, call: Call, status: journal.CallStatus, result: Result, *, error: bool = False
) -> None:
    hold = session.conversation.hold
    text = result.to_json()
    await session.conversation.write(
        lambda tx: journal.settle_call(tx, hold, call.id, status, text, is_error=error)
    )
    _tell_end(session, call, status, result.text, error)


async def _happened(session: Session, call: Call, approval: Approval) -> None:
    said = json.loads(approval.answer) if approval.answer else "A person checked: it happened."
    await _end(session, call, "finished", Result(as_text(said), f"person:{approval.decided_by}"))


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
    _tell_end(session, call, "refused", reason, True)
    if session.run_spec.rejection == "fail":
        raise Failed(reason, retry=False)


async def execute(session: Session, call: Call, approval: Approval | None) -> None:
    """Makes one call, if it may be made now."""
    tool = session.run_spec.toolbox.get(call.operation)
    if tool is None:
        gone = session.run_spec.toolbox.unknown(call.operation)
        await _end(session, call, "refused", Result(gone), error=True)
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
    await _send(session, call, tool, arguments)


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
    seen = _digest(session, spec, json.loads(call.arguments))
    return "" if seen == approval.digest else "the tool has changed since it was approved"


def _digest(session: Session, spec: ToolSpec, arguments: dict[str, Any]) -> str:
    return digest_of(session.run_spec.owner, session.run_spec.package_digest, spec, arguments)


def _target(session: Session, spec: ToolSpec) -> CallTarget:
    return target_of(session.run_spec.package_digest, spec)


async def _granted(session: Session, call: Call, spec: ToolSpec) -> bool:
    """A grant never decides a question already raised."""
    if call.status != "allowed":
        return False
    expert = session.conversation.run.expert
    wanted = WantedCall(call.operation, _target(session, spec), json.loads(call.arguments))
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
        await _end(session, call, "drafted", Result(DRAFTED))
    else:
        await _end(session, call, "refused", Result(reason), error=True)


async def _void(session: Session, call: Call, approval: Approval | None, reason: str) -> None:
    """What was approved is not what would run: shown as void, and asked anew (or left as a draft)."""
    tool = session.run_spec.toolbox.get(call.operation)
    digest = _digest(session, tool.spec, json.loads(call.arguments)) if tool else call.digest
    target = _target(session, tool.spec).to_json() if tool else call.target
    now = {"status": "asked", "digest": digest, "target": target, "note": reason}

    def work(tx: Tx) -> None:
        fenced(tx, session.conversation.hold, lane=True)
        if approval is not None:
            tx.update(approvals_table, {"id": approval.id}, status="void", note=reason)
        tx.update(calls_table, {"id": call.id}, **now)

    await session.conversation.write(work)


async def _send(session: Session, call: Call, tool: Tool, arguments: dict[str, Any]) -> None:
    """*started*, the call itself, *finished*: three facts, kept apart."""
    request = _request(session, call, arguments)
    prepared = await tool.prepare(request) if isinstance(tool, PreparedTool) else None
    final = replace(
        call,
        arguments=json.dumps(arguments, ensure_ascii=False),
        digest=_digest(session, tool.spec, arguments),
        target=_target(session, tool.spec).to_json(),
        note=prepared or call.note,
    )
    if isinstance(tool, DelegatingTool):
        await _delegate(session, final, tool, request)
        return
    if tool.spec.read_only:
        await _read(session, final, tool, request)
        return
    number = await session.conversation.start(final)
    _tell_start(session, final, arguments)
    failpoint("call.started")
    session.conversation.require_lease()
    if isinstance(tool, SessionTool):
        await _converse(session, final, tool, number)
        return
    await _made(session, final, tool, number, tool.call(request))


async def _made(
    session: Session, call: Call, tool: Tool, number: int, making: Coroutine[Any, Any, ToolOutput]
) -> None:
    """How a send ends: with an answer, with a question to a person, not at all, or nobody knows."""
    try:
        output = await making
    except InputNeeded as needed:
        await ask_input(session, call, number, needed)
        return
    except UnknownEnd as error:
        await _mark_unknown(session, call, str(error))
        await _repeat_if_safe(session, call, tool, json.loads(call.arguments), number)
        return
    except NotSent as error:
        await _not_run(session, call, error)
        return
    failpoint("call.done")
    await _finish(session, call, tool.spec, number, output)


async def _not_run(session: Session, call: Call, error: NotSent) -> None:
    """In a conversation the agent says what a person has to do; any other run ends with it."""
    await _end(session, call, "not_run", Result(str(error)), error=True)
    if isinstance(error, PersonNeeded) and not session.run_spec.parks:
        raise Failed(str(error), retry=False)


async def _give_input(session: Session, call: Call) -> None:
    """Goes on with a call whose question is decided. What may not run any more is told no."""
    tool = session.run_spec.toolbox.get(call.operation)
    arguments = json.loads(call.arguments)
    if not isinstance(tool, AskingTool):
        await _mark_unknown(session, call, "its tool is gone")
        return
    verdict = session.run_spec.gate.judge(tool.spec, arguments)
    changed = _digest(session, tool.spec, arguments) != call.digest
    answer = await take_input(session, call, refused=changed or verdict.kind in ("draft", "refuse"))
    failpoint("input.taken")
    session.conversation.require_lease()
    request = _request(session, call, arguments)
    await _made(session, replace(call, note=None), tool, call.sends, tool.go_on(request, answer))


async def _delegate(session: Session, call: Call, tool: DelegatingTool, request: ToolRequest) -> None:
    """The call and the work that it hands over are started in one commit."""
    session.conversation.require_lease()
    try:
        handover = await tool.handover(request)
        _tell_start(session, call, request.arguments)
        result = await session.conversation.delegate(call, handover)
    except NotSent as error:
        await _not_run(session, call, error)
        return
    failpoint("call.started")
    if result is not None:
        _tell_end(session, call, "finished", result.text, False)


async def _read(session: Session, call: Call, tool: Tool, request: ToolRequest) -> None:
    """Reading can be done again after a crash, so it is one commit: the answer."""
    _tell_start(session, call, request.arguments)
    session.conversation.require_lease()
    began = time.monotonic()
    try:
        output = await tool.call(request)
    except InputNeeded as needed:
        await ask_input(session, call, await session.conversation.start(call), needed)
        return
    except UnknownEnd as error:
        number = await session.conversation.start(call)
        await _mark_unknown(session, call, str(error))
        await _repeat_if_safe(session, call, tool, request.arguments, number)
        return
    except NotSent as error:
        await _not_run(session, call, error)
        return
    failpoint("call.done")
    if session.hooks.has(ToolResultPersist.hook):
        output = await persisted(session, call, output)
    result = Result(output.text, output.source, output.private)
    took_ms = round((time.monotonic() - began) * 1000)
    await session.conversation.finish_reading(call, result, took_ms, is_error=output.is_error)
    failpoint("call.finished")
    shown = "[private]" if output.private else output.text
    _tell_end(session, call, "finished", shown, output.is_error)


async def _mark_unknown(session: Session, call: Call, note: str) -> None:
    hold = session.conversation.hold
    await session.conversation.write(lambda tx: journal.mark_unknown(tx, hold, call.id, note))


async def _converse(session: Session, call: Call, tool: SessionTool, number: int) -> None:
    failed = False
    try:
        result = await _outcome_of(session, call, tool)
    except (Failed, ColleagueError) as error:
        if not tool.tells_failure:
            raise
        result, failed = Result(str(error), call.operation), True
    await session.conversation.finish(call, number, result, is_error=failed)
    _tell_end(session, call, "finished", result.text, failed)


async def _outcome_of(session: Session, call: Call, tool: SessionTool) -> Result:
    """Goes on with the session that the call is until it has its outputs. Raises Waiting or Failed as its run
    does."""
    from colleague.agent.loop import converse  # the loop acts, and acting may loop

    child = session.child(call, await tool.run_spec(json.loads(call.arguments)))
    try:
        await converse(child)
    except Completed as ending:
        await child.conversation.keep()
        outputs = ending.outputs
        text = without_tags(ending.text) if outputs is None else json.dumps(outputs, ensure_ascii=False)
        return Result(text, call.operation)
    except Failed as ending:
        raise Failed(f"{call.operation}: {ending.error}", retry=ending.retry, kind=ending.kind) from None
    raise AssertionError("a conversation ends with a LoopExit")


def _request(session: Session, call: Call, arguments: dict[str, Any]) -> ToolRequest:
    def progress(text: str) -> None:
        session.tell("tool_execution_update", call_id=call.id, text=text)

    given = earlier_inputs(session, call)
    sampling = partial(sample_for_server, session, call.id)
    return ToolRequest(
        session.run_id, call.id, call.id, arguments, progress, given=given, on_sampling=sampling
    )


async def _repeat_if_safe(
    session: Session, call: Call, tool: Tool, arguments: dict[str, Any], sends: int
) -> None:
    """A call without a definite end is sent again when that is safe; otherwise a person is asked later."""
    if (tool.spec.repeatable or tool.spec.read_only) and sends < MOST_SENDS:
        await _send(session, replace(call, sends=sends), tool, arguments)


async def _recover(session: Session, call: Call) -> None:
    """A call that a dead worker had begun."""
    tool = session.run_spec.toolbox.get(call.operation)
    arguments = json.loads(call.arguments)
    if isinstance(tool, SessionTool):
        await _converse(session, call, tool, call.sends)
        return
    if isinstance(tool, PreparedTool) and call.note:
        request = _request(session, call, arguments)
        output = await tool.recover(request, call.note)
        await _finish(session, call, tool.spec, call.sends, output)
        return
    await _mark_unknown(session, call, "the worker died while the call was under way")
    if tool is None:
        return
    verdict = session.run_spec.gate.judge(tool.spec, arguments)
    if verdict.kind in ("allow", "ask"):
        await _repeat_if_safe(session, call, tool, arguments, call.sends)


async def _finish(session: Session, call: Call, spec: ToolSpec, send: int, output: ToolOutput) -> None:
    if session.hooks.has(ToolResultPersist.hook):
        output = await persisted(session, call, output)
    harmless = spec.repeatable or spec.read_only or not spec.server
    text = output.text if harmless or not output.is_error else f"{MAY_HAVE_HAPPENED}\n{output.text}"
    result = Result(text, output.source, output.private)
    await session.conversation.finish(call, send, result, is_error=output.is_error)
    failpoint("call.finished")
    shown = "[private]" if output.private else output.text
    _tell_end(session, call, "finished", shown, output.is_error)


def _tell_start(session: Session, call: Call, arguments: dict[str, Any]) -> None:
    session.tell("tool_execution_start", call_id=call.id, operation=call.operation, arguments=arguments)


def _tell_end(session: Session, call: Call, status: journal.CallStatus, text: str, error: bool) -> None:
    session.tell(
        "tool_execution_end",
        call_id=call.id,
        operation=call.operation,
        status=status,
        result=text,
        is_error=error,
    )
    if status == "finished":
        tell_call_made(session, call, text, is_error=error)
