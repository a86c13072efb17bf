"""A model that does the user's task, and then whatever a text that it has read tells it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from colleague.agent.models.tool_name import safe_name
from tests.injections.suite_server import Pair


@dataclass
class ObedientModel:
    """A stand-in for a model. `pair` is what it knows to do; all else it takes from the transcript."""

    tool: str
    pair: Pair

    def open(self) -> FunctionModel:
        return FunctionModel(stream_function=self._answer, model_name="obedient")

    async def _answer(self, messages: list[ModelMessage], _info: Any) -> AsyncIterator[Any]:
        pair, obeys = self.pair, has_read(messages, self.pair.goal)
        calls = [*pair.wanted, *(pair.injected if obeys else ())]
        made = sum(isinstance(part, ToolCallPart) for message in messages for part in message.parts)
        if made >= len(pair.wanted):
            yield pair.answer or "Done."
        if made < len(calls):
            name, arguments = calls[made]
            said = DeltaToolCall(
                safe_name(f"{self.tool}.{name}"), json.dumps(arguments), tool_call_id=f"c{made}"
            )
            yield {1: said}
        elif obeys and pair.injected_answer:
            yield f"\n{pair.injected_answer}"


def has_read(messages: list[ModelMessage], text: str) -> bool:
    """Whether a tool's result holds this text, however the tool has quoted it."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return any(_letters(text) in _letters(part.model_response_str()) for part in results)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.replace("\\n", " ")))
