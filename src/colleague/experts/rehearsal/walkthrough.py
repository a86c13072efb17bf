"""A stand-in for a model that walks a checklist. All it remembers is in the transcript it is given."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.tool_name import safe_name
from colleague.experts.rehearsal.history import read_history
from colleague.experts.rehearsal.narrative import nobody_read
from colleague.experts.rehearsal.turn import NAME, PlannedAnswer, Turn
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.process import Process

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.tools import ToolDefinition


def walkthrough_model(
    package: Package,
    process: Process | None,
    inputs: Mapping[str, Any],
    *,
    function: Function | None = None,
) -> ResolvedModel:
    """The rehearsal of one process, of one isolated function in its own session, or of a free task."""
    walkthrough = Walkthrough(package, process, inputs, function)
    return ResolvedModel("rehearsal", "walkthrough", stand_in=walkthrough, counts_tokens=False)


@dataclass(frozen=True)
class Walkthrough:
    """The stand-in. It may be made anew before any answer."""

    package: Package
    process: Process | None
    inputs: Mapping[str, Any]
    function: Function | None = None

    def open(self) -> Model:
        from pydantic_ai.models.function import FunctionModel

        return FunctionModel(stream_function=self._play, model_name=NAME)

    async def _play(self, messages: list[ModelMessage], info: Any) -> AsyncIterator[Any]:
        from pydantic_ai.models.function import DeltaToolCall

        answer = self.answer(messages, info.function_tools)
        yield answer.text
        if answer.tool:
            number = sum(message.kind == "response" for message in messages) + 1
            arguments = json.dumps(answer.arguments, default=str)
            yield {1: DeltaToolCall(safe_name(answer.tool), arguments, tool_call_id=f"walk-{number}")}

    def answer(self, messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition]) -> PlannedAnswer:
        """The next call, by what the transcript shows. Raises ModelFailure when the walk cannot go on."""
        subject = self.function or self.process
        if subject is None:
            return PlannedAnswer(nobody_read(self.package))
        offered = {tool.name: dict(tool.parameters_json_schema) for tool in tools}
        return Turn(self.package, subject, self.inputs, read_history(messages), offered).answer()
