"""Recording what an inline function came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.experts.runs.tools.names import FUNCTION_RESULT
from colleague.packages.function import Function
from colleague.packages.parameter import object_schema


def function_result_spec(functions: Sequence[Function]) -> ToolSpec:
    return ToolSpec(
        name=FUNCTION_RESULT,
        description=(
            "Records the outputs of a function that you read and applied yourself, right after that. "
            "They are checked against what the function declares."
        ),
        parameters={
            "type": "object",
            "properties": {
                "function": {"type": "string", "enum": [function.name for function in functions]},
                "outputs": {"type": "object", "description": "Every declared output by its name"},
            },
            "required": ["function", "outputs"],
        },
        repeatable=True,
    )


@dataclass(frozen=True)
class FunctionResultTool:
    """Checks the outputs; the gate asks a person when the confidence among them is low."""

    functions: Sequence[Function]
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        name = request.arguments["function"]
        [function] = [each for each in self.functions if each.name == name]
        wanted = ToolSpec(f"{name}'s outputs", "", object_schema(function.outputs))
        try:
            checked_arguments(wanted, request.arguments["outputs"])
        except BadArguments as error:
            return ToolOutput(str(error), is_error=True)
        return ToolOutput(f"The outputs of {name} are recorded.")
