"""Think, act, observe: ask the model, do what it asks for, show it the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from colleague.agent.act import act
from colleague.agent.budget_check import check_budget
from colleague.agent.context.fit import fitting_messages, load_context, messages_after_overflow
from colleague.agent.context.manual import compact_now
from colleague.agent.exits import Failed
from colleague.agent.gate_calls import proposed_calls
from colleague.agent.hook_points import sent_answer
from colleague.agent.model_request import ask_models, failed_turn
from colleague.agent.models.delta import Delta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.pictures.request import has_pictures
from colleague.agent.run_spec import RunSpec
from colleague.agent.session import Session
from colleague.agent.streaming.answer import answer_of, as_sent
from colleague.agent.streaming.payloads import message_end
from colleague.hooks.events import MessageSending

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import ToolDefinition

    from colleague.agent.tool import ToolSpec


async def converse(session: Session, *, begun: bool = True) -> None:
    """Begins a session, or goes on with it from whatever its transcript says, until a LoopExit is raised.

    `begun`: whether there may be something to load."""
    conversation, opening = session.conversation, session.run_spec.opening
    await load_context(session, begun=begun)
    if begun:
        await conversation.load()
    if session.run_spec.compacts is not None:
        await compact_now(session, session.run_spec.compacts)
    if conversation.is_empty:
        conversation.say(await opening.first(conversation.run))
        if session.run_spec.decided_call is not None:
            await conversation.make(session.run_spec.decided_call)
    elif conversation.attempt_is_new:
        conversation.say(await opening.again(conversation.run, await conversation.last_error()))
    try:
        await loop(session)
    except Failed:
        await conversation.keep()
        raise


async def loop(session: Session) -> None:
    """Goes on until a LoopExit is raised."""
    conversation = session.conversation
    while True:
        await act(session)
        await session.run_spec.completion.check(conversation)
        await conversation.keep()
        await check_limits(session)
        await _steer(session)
        reply = await think(session)
        calls, answer = await proposed_calls(session, reply), answer_of(reply.response)
        sent = await sent_answer(session, answer) if session.hooks.has(MessageSending.hook) else None
        await conversation.answer(reply, calls, sent)
        session.tell("message_end", **message_end(answer if sent is None else as_sent(answer, sent)))


async def _steer(session: Session) -> None:
    """What people said meanwhile stands in the transcript before the next decision."""
    steering = session.run_spec.steering
    if steering is not None and await session.conversation.take_steered(steering):
        session.tell("messages_steered")


async def think(session: Session) -> Reply:
    """One model answer. A request that the provider finds too long is shortened and made again."""
    messages = await fitting_messages(session)
    session.tell("message_start", turn=session.conversation.turns + 1)
    overflows = 0
    while True:
        try:
            return await _ask(session, messages)
        except ModelFailure as failure:
            if failure.reason != "context_overflow":
                raise failed_turn(failure) from None
            overflows += 1
            messages = await messages_after_overflow(session, failure, overflows)


async def _ask(session: Session, messages: Sequence[ModelMessage]) -> Reply:
    """One request, streamed to whoever watches; failures that pass are waited out. Raises ModelFailure."""
    run_spec = session.run_spec
    request = ThinkRequest(
        messages=messages,
        system=run_spec.system,
        system_tail=run_spec.system_tail,
        tools=[_definition(spec) for spec in run_spec.toolbox.specs],
        thinking=run_spec.thinking,
        with_pictures=run_spec.pictures if has_pictures(messages) else None,
    )

    def on_delta(delta: Delta) -> None:
        if run_spec.private or session.hooks.has(MessageSending.hook):
            return  # what may not be told cannot be recognised in pieces; the whole comes with message_end
        session.tell_delta(delta)

    sent = replace(request, watch=session.tracer.request(session, request))
    return await ask_models(session, sent, on_delta, lambda: remaining_seconds(session))


def _definition(spec: ToolSpec) -> ToolDefinition:
    from pydantic_ai.tools import ToolDefinition

    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=spec.parameters
    )


def remaining_seconds(session: Session) -> float:
    limit = session.run_spec.timeout_seconds
    return float("inf") if limit is None else limit - session.conversation.working_ms / 1000


def too_long(run_spec: RunSpec) -> str:
    return f"the attempt took longer than {run_spec.timeout_seconds:.0f} seconds of work"


async def check_limits(session: Session) -> None:
    """Raises Failed when the run has had its time, turns, calls or money."""
    run_spec, conversation = session.run_spec, session.conversation
    if remaining_seconds(session) <= 0:
        raise Failed(too_long(run_spec))
    if conversation.turns >= run_spec.max_turns:
        raise Failed(f"no final answer after {run_spec.max_turns} turns", retry=False)
    if repeated := _repeated(session):
        limit = run_spec.same_call_limit
        raise Failed(f"the same call was made {limit} times in a row: {repeated}", retry=False)
    await check_budget(session)


def _repeated(session: Session) -> str:
    """The call that the model makes again and again without headway; empty when there is none."""
    limit = session.run_spec.same_call_limit
    last = session.conversation.calls[-limit:] if limit else []
    same = {(call.operation, json.dumps(json.loads(call.arguments), sort_keys=True)) for call in last}
    failed = any(call.is_error for call in last) and not all(call.status == "refused" for call in last)
    counts = session.run_spec.failures_repeat or not failed
    return last[0].operation if counts and len(last) == limit and len(same) == 1 else ""
