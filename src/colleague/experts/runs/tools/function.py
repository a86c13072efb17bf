"""An isolated function: a session of its own, inside the run, that gives back its outputs only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from colleague.agent.run_spec import RunSpec
from colleague.agent.tool import SessionTool, ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.tools.names import FUNCTION
from colleague.packages.function import Function
from colleague.packages.parameter import object_schema
from colleague.store.journal import SESSION

Staged = Callable[[Function, dict[str, Any]], Awaitable[RunSpec]]


@dataclass(frozen=True)
class FunctionTool(SessionTool):
    """`stage` builds the RunSpec of the child session from the declared inputs."""

    function: Function
    stage: Staged

    @property
    def spec(self) -> ToolSpec:
        name, description = f"{FUNCTION}{self.function.name}", self.function.description
        return ToolSpec(name, description, object_schema(self.function.inputs), server_tool=SESSION)

    async def run_spec(self, arguments: dict[str, Any]) -> RunSpec:
        declared = {parameter.name for parameter in self.function.inputs}
        return await self.stage(self.function, {k: v for k, v in arguments.items() if k in declared})

    async def call(self, request: ToolRequest) -> ToolOutput:
        raise AssertionError(f"{request.call_id} is a session, not a call")
