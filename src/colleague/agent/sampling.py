"""Answers what an MCP server asks a model during a call: traced, stored and paid for like the turn itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from colleague.agent.budget_check import check_budget
from colleague.agent.exits import Failed
from colleague.agent.model_request import ask_models
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.request import ThinkRequest
from colleague.agent.models.thinking import Thinking
from colleague.agent.streaming.answer import AnswerReader
from colleague.mcp.sampling import SamplingAnswer, SamplingRefused, SamplingRequest
from colleague.silent_answer import shown_answer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from colleague.agent.models.reply import Reply
    from colleague.agent.session import Session

SYSTEM = (
    "A program asks you for a text while one of its tools is at work. Answer it plainly. You have no tools, "
    "you know nothing about whom the tool works for, and what you write goes to that program."
)
_SECONDS = 120.0


async def sample_for_server(session: Session, call_id: str, asked: SamplingRequest) -> SamplingAnswer:
    """Raises SamplingRefused when the budget is used up, or no model answers."""
    name = f"sampling@{asked.server}/{asked.tool}"
    text = f"the MCP server {asked.server} asks the model ({asked.number})"
    session.tell("tool_execution_update", call_id=call_id, text=text)
    aside = replace(session, conversation=session.conversation.side(name), reader=AnswerReader())
    request = ThinkRequest(
        messages=_messages(asked),
        system="\n\n".join(filter(None, (SYSTEM, asked.system))),
        thinking=Thinking(level="off"),
        max_tokens=asked.max_tokens,
    )
    async with session.sampling:
        reply = await _reply(aside, request)
    return SamplingAnswer(shown_answer(reply.text).text.strip(), reply.model, reply.finish_reason == "length")


async def _reply(aside: Session, request: ThinkRequest) -> Reply:
    try:
        await check_budget(aside)
        watched = replace(request, watch=aside.tracer.request(aside, request))
        reply = await ask_models(aside, watched, None, lambda: _SECONDS)
    except Failed as error:
        raise SamplingRefused(error.error) from None
    except ModelFailure as error:
        raise SamplingRefused("no model answers now") from error
    await aside.conversation.keep_request(reply)
    return reply


def _messages(asked: SamplingRequest) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    return [
        ModelRequest(parts=[UserPromptPart(text)])
        if role == "user"
        else ModelResponse(parts=[TextPart(text)])
        for role, text in asked.messages
    ]
