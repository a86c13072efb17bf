"""From what a model asks for to calls with a verdict: all are gated before the first is made."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from colleague.agent.call_allowance import CallAllowance, call_allowance
from colleague.agent.call_result import Result
from colleague.agent.execute import DRAFTED
from colleague.agent.grant_check import spare_questions
from colleague.agent.hook_points import changed_calls
from colleague.agent.streaming.answer import answer_of
from colleague.agent.toolbox import BadArguments, checked_arguments, decoded_arguments
from colleague.hooks.events import BeforeToolCall
from colleague.store.journal import CallStatus, NewCall

if TYPE_CHECKING:
    from colleague.agent.gate import Verdict
    from colleague.agent.models.reply import Reply
    from colleague.agent.session import Session
    from colleague.agent.tool import ToolSpec
    from colleague.hooks.runner import ToolCallChange

STATUS: dict[str, CallStatus] = {
    "allow": "allowed",
    "ask": "asked",
    "draft": "drafted",
    "refuse": "refused",
    "describe": "described",
}
PRIVATE = (
    "The arguments repeat private knowledge, which may not leave. Nothing was sent; say it without those "
    "words and figures."
)


async def proposed_calls(session: Session, reply: Reply) -> list[NewCall]:
    """Every call of an answer with its verdict. Calls beyond the allowance are refused, not judged."""
    parts = list(enumerate(reply.tool_calls))
    allowance = await call_allowance(session) if parts else CallAllowance(0, "")
    said = answer_of(reply.response).text if parts else ""
    judged = parts[: allowance.calls]
    changes = await changed_calls(session, judged) if session.hooks.has(BeforeToolCall.hook) else {}
    calls = [_proposed(session, place, part, said, changes.get(place)) for place, part in judged]
    if any(call.status == "asked" for call in calls):
        calls = await spare_questions(session.conversation, calls)
    return [*calls, *(_one_too_many(place, part, allowance) for place, part in parts[allowance.calls :])]


def _one_too_many(place: int, part: Any, allowance: CallAllowance) -> NewCall:
    return replace(_refused(part, place, _raw(part), allowance.reason), counted=False)


def _raw(part: Any) -> str:
    return part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)


def _proposed(
    session: Session, place: int, part: Any, reasoning: str, change: ToolCallChange | None
) -> NewCall:
    tool = session.run_spec.toolbox.get(part.tool_name)
    raw = _raw(part)
    if tool is None:
        return _refused(part, place, raw, session.run_spec.toolbox.unknown(part.tool_name))
    try:
        arguments = checked_arguments(tool.spec, part.args)
    except BadArguments as error:
        return _refused(part, place, raw, str(error))
    if change is None:
        return _judged(session, place, part, tool.spec, arguments, reasoning)
    return _changed(session, place, part, tool.spec, change, reasoning)


def _changed(
    session: Session, place: int, part: Any, spec: ToolSpec, change: ToolCallChange, reasoning: str
) -> NewCall:
    """A call as plugins made it: from here on it is treated as if the model had asked for just this."""
    if change.refusal:
        return _refused(part, place, _raw(part), change.refusal)
    by = ", ".join(change.changed_by)
    try:
        arguments = checked_arguments(spec, change.params)
    except BadArguments as error:
        return _refused(
            part, place, _raw(part), f"not made: the plugin {by} changed the arguments, and {error}"
        )
    if not by:
        return _judged(session, place, part, spec, arguments, reasoning)
    note = f"[The plugin {by} changed the arguments.] {reasoning}".strip()
    return replace(_judged(session, place, part, spec, arguments, note), changed_by=by)


def _refused(part: Any, place: int, raw: str, reason: str) -> NewCall:
    return NewCall(
        place=place,
        tool_call_id=part.tool_call_id,
        operation=part.tool_name,
        arguments=_valid_json(raw),
        tier="none",
        status="refused",
        result=Result(reason).to_json(),
        is_error=True,
    )


def _valid_json(raw: str) -> str:
    try:
        decoded_arguments(raw)
    except BadArguments:
        return json.dumps(raw)
    return raw or "{}"


def _judged(
    session: Session, place: int, part: Any, spec: ToolSpec, arguments: dict[str, Any], reasoning: str
) -> NewCall:
    verdict = session.run_spec.gate.judge(spec, arguments)
    text = json.dumps(arguments, ensure_ascii=False)
    if _tells_private(session, spec, arguments):
        shown = json.dumps(session.run_spec.private.redact_document(arguments), ensure_ascii=False)
        return _refused(part, place, shown, PRIVATE)
    kind = verdict.kind
    note = session.run_spec.private.redact(reasoning)[:2000] or None
    happened = _may_have_happened(session, spec, text)
    if kind in ("allow", "ask") and happened:
        kind, note = "ask", "the same call ended with an error before; it may have happened"
    status = STATUS[kind]
    result = _settled(kind, verdict, spec)
    return NewCall(
        place=place,
        tool_call_id=part.tool_call_id,
        operation=spec.name,
        arguments=text,
        tier=verdict.tier,
        status=status,
        server=spec.server,
        tool=spec.server_tool,
        digest=session.run_spec.digest_of(spec, arguments),
        repeatable=spec.repeatable or spec.read_only,
        result=result.to_json() if result else None,
        is_error=kind == "refuse",
        note=note,
        draft=kind == "draft",
        channel=session.run_spec.draft_channel,
        target=session.run_spec.target_of(spec).to_json(),
        grantable=not happened,
    )


def _tells_private(session: Session, spec: ToolSpec, arguments: dict[str, Any]) -> bool:
    """Whether private text would leave: to a server, to people, or as the name of a file."""
    leaving = arguments if spec.server or spec.told else {"path": arguments.get("path")}
    return bool(session.run_spec.private.redact_document(leaving) != leaving)


def _settled(kind: str, verdict: Verdict, spec: ToolSpec) -> Result | None:
    """The result of a call that is not made; None when it is, or when a person is asked first."""
    if kind == "draft":
        return Result(DRAFTED)
    if kind == "describe":
        return Result(verdict.reason)
    return Result(verdict.reason or f"{spec.name} is not allowed") if kind == "refuse" else None


def _may_have_happened(session: Session, spec: ToolSpec, arguments: str) -> bool:
    """An error is no proof that nothing happened, so the same call again asks."""
    if spec.repeatable or spec.read_only or not spec.server:
        return False
    return any(
        call.operation == spec.name
        and call.arguments == arguments
        and call.is_error
        and call.status == "finished"
        for call in session.conversation.calls
    )
