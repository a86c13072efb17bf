"""Where the engine calls the hooks of plugins, and what it makes of their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from colleague.agent.conversation import Content
from colleague.agent.tool import PLUGIN, ToolOutput
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.data_element import wrapped
from colleague.hooks.events import (
    AfterToolCall,
    BeforeAgentStart,
    BeforeToolCall,
    MessageDelivered,
    MessageSending,
    Phase,
    ToolResultPersist,
)
from colleague.hooks.runner import GuardFailed, TextChange, ToolCallChange
from colleague.main_names import MAIN_CHANNEL
from colleague.session_key import SessionKey

if TYPE_CHECKING:
    from colleague.agent.opening import OpeningMessages
    from colleague.agent.session import Session
    from colleague.agent.streaming.answer import ModelAnswer
    from colleague.hooks.runner import PluginHooks
    from colleague.store.journal import Call
    from colleague.store.run import Run


def about_run(run: Run) -> dict[str, Any]:
    """What every event of a run says."""
    expert = run.expert if run.kind == "expert" else ""
    return {"run_id": run.id, "session_key": run.session_key, "expert": expert}


@dataclass(frozen=True)
class OpeningWithContext:
    """What plugins add stands before the first message, as data with its source."""

    opening: OpeningMessages
    context: Sequence[tuple[str, str]]

    async def first(self, run: Run) -> Content:
        added = "\n\n".join(wrapped(text, f"{PLUGIN}{plugin}") for plugin, text in self.context)
        said = await self.opening.first(run)
        return f"{added}\n\n{said}" if isinstance(said, str) else [added, *said]

    async def again(self, run: Run, error: str) -> str:
        return await self.opening.again(run, error)


async def with_agent_start(session: Session, *, begun: bool) -> Session:
    """The session with what plugins add to its prompt and to its first message."""
    run, spec = session.conversation.run, session.run_spec
    message = str(json.loads(run.inputs).get("message") or "")
    event = BeforeAgentStart(**about_run(run), message=message, resumed=begun)
    change = await session.hooks.before_agent_start(event)
    if change.system_prompt:
        spec = replace(spec, system=f"{change.system_prompt}\n\n{spec.system}")
    if change.context:
        spec = replace(spec, opening=OpeningWithContext(spec.opening, change.context))
    return replace(session, run_spec=spec)


async def changed_calls(session: Session, parts: Sequence[tuple[int, Any]]) -> dict[int, ToolCallChange]:
    """What plugins make of the calls of an answer, by place. What fits no tool is left to the checks."""
    changes: dict[int, ToolCallChange] = {}
    for place, part in parts:
        tool = session.run_spec.toolbox.get(part.tool_name)
        if tool is None:
            continue
        try:
            arguments = checked_arguments(tool.spec, part.args)
        except BadArguments:
            continue
        changes[place] = await _before_call(session, tool.spec.name, arguments, "proposed")
    return changes


async def refused_by_plugin(session: Session, operation: str, arguments: dict[str, Any]) -> str:
    """Why a plugin blocks a call that a person has approved; empty when none does."""
    return (await _before_call(session, operation, arguments, "approved")).refusal


async def _before_call(
    session: Session, operation: str, arguments: dict[str, Any], phase: Phase
) -> ToolCallChange:
    about = about_run(session.conversation.run)
    return await session.hooks.before_tool_call(
        BeforeToolCall(**about, tool=operation, params=arguments, phase=phase)
    )


async def persisted(session: Session, call: Call, output: ToolOutput) -> ToolOutput:
    """The result as plugins want it stored. Words of a plugin are data, whoever's tool it was."""
    if output.private:
        return output
    event = ToolResultPersist(
        **about_run(session.conversation.run),
        call_id=call.id,
        tool=call.operation,
        params=json.loads(call.arguments),
        text=output.text,
        is_error=output.is_error,
        source=output.source,
    )
    change = await session.hooks.tool_result_persist(event)
    if not change.changed_by:
        return output
    return replace(output, text=change.text, source=output.source or f"{PLUGIN}{change.changed_by[-1]}")


def tell_call_made(session: Session, call: Call, text: str, *, is_error: bool) -> None:
    if session.hooks.has(AfterToolCall.hook):
        event = AfterToolCall(
            **about_run(session.conversation.run),
            call_id=call.id,
            tool=call.operation,
            params=json.loads(call.arguments),
            result=text,
            is_error=is_error,
        )
        session.hooks.tell(event)


async def sent_answer(session: Session, answer: ModelAnswer) -> TextChange | None:
    """What people are told of an answer of a turn; None when that is the answer as it is.

    A plugin that must be asked and cannot be holds it back."""
    conversation = session.conversation
    if not conversation.is_turn or not answer.text or answer.token is not None:
        return None
    run = conversation.run
    event = MessageSending(
        **about_run(run), channel=_channel(run), text=session.run_spec.private.redact(answer.text)
    )
    try:
        change = await session.hooks.message_sending(event)
    except GuardFailed as error:
        return TextChange("", cancelled_by=error.plugin, reason="it could not be asked")
    return change if change.changed_by or change.cancelled_by else None


def tell_answered(hooks: PluginHooks, run: Run, text: str) -> None:
    hooks.tell(MessageDelivered(**about_run(run), channel=_channel(run), text=text))


def _channel(run: Run) -> str:
    return SessionKey.parse(run.session_key).channel or MAIN_CHANNEL
