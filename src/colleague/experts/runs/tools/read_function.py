"""The `read` tool of an expert."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from colleague.agent.render import shortened, wrapped
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.prompt import LEARNED, MOST_LEARNED
from colleague.experts.workspace.learnings import function_learnings
from colleague.packages.function import Function
from colleague.packages.package import Package


@dataclass(frozen=True)
class ReadFunctionTool:
    """The `read` of an expert: a function's file comes with its learnings and the knowledge it needs."""

    plain: Tool
    package: Package
    learnings: Path

    @property
    def spec(self) -> ToolSpec:
        return self.plain.spec

    async def call(self, request: ToolRequest) -> ToolOutput:
        output = await self.plain.call(request)
        path = str(request.arguments.get("path", "")).removeprefix("./")
        function = next((each for each in self.package.functions if each.path == path), None)
        if function is None or output.is_error:
            return output
        return ToolOutput(output.text + self._beside(function), source=output.source, private=output.private)

    def _beside(self, function: Function) -> str:
        learned = function_learnings(self.learnings, function.name)
        told = wrapped(shortened(learned, MOST_LEARNED), LEARNED)
        parts = [f"\n\n## Learnings for {function.name}\n\n{told}"] if learned else []
        if function.knowledge:
            parts.append(f"\n\nKnowledge to read with it: {', '.join(function.knowledge)}")
        return "".join(parts)
