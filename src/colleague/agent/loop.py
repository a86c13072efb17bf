"""Think, act, observe: ask the model, do what it asks for, show it the result."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from colleague import activity
from colleague.agent.act import act
from colleague.agent.context.fit import fitting_messages, load_context, messages_after_overflow
from colleague.agent.context.manual import compact_now
from colleague.agent.exits import Failed
from colleague.agent.gate_calls import proposed_calls
from colleague.agent.models.delta import Delta
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.reply import Reply
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.retry import RetryPolicy, Wait, think_with_retries
from colleague.agent.pictures.request import has_pictures
from colleague.agent.run_spec import RunSpec
from colleague.agent.session import Session
from colleague.agent.streaming.answer import answer_of
from colleague.agent.streaming.payloads import message_end
from colleague.budget import Budget
from colleague.clock import iso
from colleague.store.ids import short

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import ToolDefinition

    from colleague.agent.tool import ToolSpec
    from colleague.store.spend import Spent

log = logging.getLogger(__name__)


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
        await conversation.answer(reply, await proposed_calls(session, reply))
        session.tell("message_end", **message_end(answer_of(reply.response)))


async def _with_pictures(run_spec: RunSpec, request: ThinkRequest) -> ThinkRequest:
    """As it is sent; what is stored and logged only names the pictures."""
    if run_spec.pictures is None or not has_pictures(request.messages):
        return request
    return replace(request, messages=await asyncio.to_thread(run_spec.pictures, request.messages))


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
                raise _failed(failure) from None
            overflows += 1
            messages = await messages_after_overflow(session, failure, overflows)


def _failed(failure: ModelFailure) -> Failed:
    hint = f" ({failure.hint})" if failure.hint else ""
    retry = failure.reason not in ("auth", "billing", "not_found")
    return Failed(f"{failure.message}{hint}", retry=retry, kind=failure.reason)


async def _ask(session: Session, messages: Sequence[ModelMessage]) -> Reply:
    """One request, streamed to whoever watches; failures that pass are waited out. Raises ModelFailure."""
    run_spec, conversation = session.run_spec, session.conversation
    request = ThinkRequest(
        messages=messages,
        system=run_spec.system,
        system_tail=run_spec.system_tail,
        tools=[_definition(spec) for spec in run_spec.toolbox.specs],
        thinking=run_spec.thinking,
    )

    def on_delta(delta: Delta) -> None:
        if run_spec.private:
            return  # private text cannot be recognised in pieces; the whole answer comes with message_end
        session.tell_delta(delta)

    reply = await think_with_retries(
        run_spec.model,
        await _with_pictures(run_spec, request),
        on_delta,
        _retry_policy(session),
        connections=session.connections,
    )
    await conversation.clear_trouble()
    session.payloads.write(session.run_id, run_spec, request, reply)
    return reply


def _retry_policy(session: Session) -> RetryPolicy:
    return RetryPolicy(
        lambda: remaining_seconds(session),
        lambda wait: _tell_wait(session, wait),
        on_silence=lambda seconds: _tell_silence(session, seconds),
    )


async def _tell_wait(session: Session, wait: Wait) -> None:
    """The same request is made again; what was told of its answer so far is void."""
    private = session.run_spec.private
    error, text = private.redact(wait.failure.message), private.redact(wait.failure.brief)
    in_ms = round(wait.seconds * 1000)
    log.warning("run %s asks its model again in %.1f s: %s", short(session.run_id), wait.seconds, text)
    trouble = await session.conversation.note_trouble(text, in_ms)
    session.tell(
        "message_retry",
        model=session.run_spec.model.name,
        error=error,
        text=text,
        attempt=wait.attempt,
        in_ms=in_ms,
        next_try_at=iso(trouble.next_try_at) if trouble else None,
    )


def _tell_silence(session: Session, seconds: float) -> None:
    """For watchers only: a slow model is no trouble yet."""
    model = session.run_spec.model.name
    text = f"{model} has not answered for {seconds:.0f} s"
    activity.tell("slow model", f"run {short(session.run_id)}: {text}", run=session.run_id, model=model)
    session.tell("message_slow", model=model, seconds=seconds, text=text)


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
    if _repeats(session):
        raise Failed(f"the same call was made {run_spec.same_call_limit} times in a row", retry=False)
    if run_spec.run_budget == run_spec.day_budget == Budget():
        await conversation.require_hold()
        return
    run, day = await conversation.spent()
    for used, budget, what in ((run, run_spec.run_budget, "run"), (day, run_spec.day_budget, "day")):
        over = _over(used, budget)
        if over:
            raise Failed(f"the budget of the {what} is used up: {over}", retry=False)


def _repeats(session: Session) -> bool:
    """Whether the model makes no headway: the same call succeeds, or is refused, again and again."""
    limit = session.run_spec.same_call_limit
    last = session.conversation.calls[-limit:]
    same = {(call.operation, json.dumps(json.loads(call.arguments), sort_keys=True)) for call in last}
    settled = not any(call.is_error for call in last) or all(call.status == "refused" for call in last)
    return len(last) == limit and len(same) == 1 and settled


def _over(used: Spent, budget: Budget) -> str:
    if budget.tokens is not None and used.tokens >= budget.tokens:
        return f"{used.tokens:,} of {budget.tokens:,} tokens"
    if budget.cost is not None and used.cost >= budget.cost:
        return f"{used.cost:.2f} of {budget.cost:.2f}"
    if budget.tool_calls is not None and used.tool_calls >= budget.tool_calls:
        return f"{used.tool_calls} of {budget.tool_calls} tool calls"
    return ""
