"""Making one call: that it started, the call itself, how it ended. That it may be made is decided before."""

from __future__ import annotations

import json
import time
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from colleague.agent.call_end import end_call, tell_end, tell_start
from colleague.agent.call_result import Result
from colleague.agent.exits import Completed, Failed
from colleague.agent.hook_points import persisted
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
from colleague.agent.tool_input import ask_input, earlier_inputs, take_input
from colleague.errors import ColleagueError
from colleague.failpoints import failpoint
from colleague.hooks.events import ToolResultPersist
from colleague.store import journal
from colleague.store.journal import Call

MOST_SENDS = 3


async def send(session: Session, call: Call, tool: Tool, arguments: dict[str, Any]) -> None:
    """*started*, the call itself, *finished*: three facts, kept apart."""
    request = _request(session, call, arguments)
    prepared = await tool.prepare(request) if isinstance(tool, PreparedTool) else None
    final = replace(
        call,
        arguments=json.dumps(arguments, ensure_ascii=False),
        digest=session.run_spec.digest_of(tool.spec, arguments),
        target=session.run_spec.target_of(tool.spec).to_json(),
        note=prepared or call.note,
    )
    if isinstance(tool, DelegatingTool):
        await _delegate(session, final, tool, request)
        return
    if tool.spec.read_only:
        await _read(session, final, tool, request)
        return
    number = await session.conversation.start(final)
    tell_start(session, final, arguments)
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
    await end_call(session, call, "not_run", Result(str(error)), error=True)
    if isinstance(error, PersonNeeded) and not session.run_spec.parks:
        raise Failed(str(error), retry=False)


async def give_input(session: Session, call: Call) -> None:
    """Goes on with a call whose question is decided. What may not run any more is told no."""
    tool = session.run_spec.toolbox.get(call.operation)
    arguments = json.loads(call.arguments)
    if not isinstance(tool, AskingTool):
        await _mark_unknown(session, call, "its tool is gone")
        return
    verdict = session.run_spec.gate.judge(tool.spec, arguments)
    changed = session.run_spec.digest_of(tool.spec, arguments) != call.digest
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
        tell_start(session, call, request.arguments)
        result = await session.conversation.delegate(call, handover)
    except NotSent as error:
        await _not_run(session, call, error)
        return
    failpoint("call.started")
    if result is not None:
        tell_end(session, call, "finished", result.text, False)


async def _read(session: Session, call: Call, tool: Tool, request: ToolRequest) -> None:
    """Reading can be done again after a crash, so it is one commit: the answer."""
    tell_start(session, call, request.arguments)
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
    tell_end(session, call, "finished", shown, output.is_error)


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
    tell_end(session, call, "finished", result.text, failed)


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
        await send(session, replace(call, sends=sends), tool, arguments)


async def recover(session: Session, call: Call) -> None:
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
    tell_end(session, call, "finished", shown, output.is_error)
