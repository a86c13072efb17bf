"""Calls whose server has asked something and waits for it on the open connection (before 2026-07-28)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any

from colleague.mcp.call import McpCall
from colleague.mcp.elicitation import MOST_QUESTIONS, QuestionAnswer, ServerQuestion

log = logging.getLogger(__name__)

HELD_SECONDS = 25 * 3600.0
"""A question that nobody comes back to is cancelled then; its approval has expired before."""
CANCEL = QuestionAnswer("cancel")


class HeldCalls:
    """Those of one connection. Nobody waits for them here; they are taken up again by their key."""

    def __init__(self) -> None:
        self._held: dict[str, McpCall] = {}

    def keep(self, call: McpCall) -> None:
        self._held[call.key] = call

    def take(self, key: str) -> McpCall | None:
        return self._held.pop(key, None)

    async def ask(self, params: Any, calls: Collection[McpCall]) -> QuestionAnswer:
        """What a person says to a question that came over the connection."""
        question, call = ServerQuestion.read(params), asking_call(calls)
        if question is None or call is None:
            return CANCEL
        if known := call.take_given(question.digest):
            return known
        if call.question is not None or call.questions >= MOST_QUESTIONS:
            log.warning("MCP server %s asks more than a person is asked; it is told no", call.server)
            return CANCEL
        call.questions += 1
        answer = call.ask(question)
        try:
            async with asyncio.timeout(HELD_SECONDS):
                return await answer
        except TimeoutError:
            return CANCEL
        finally:
            if call.answer is answer:
                call.answered(CANCEL)


def asking_call(calls: Collection[McpCall]) -> McpCall | None:
    """The protocol does not say which call a question belongs to, so it counts only when there is one."""
    under_way = [each for each in calls if not each.abandoned]
    if len(under_way) == 1:
        return under_way[0]
    if under_way:
        server = under_way[0].server
        log.warning("MCP server %s asks while several calls are under way; it is told no", server)
    return None
