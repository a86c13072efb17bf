"""The tool that ends a process, or an isolated function, with its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.tools.names import COMPLETE
from colleague.packages.parameter import Parameter, object_schema

DESCRIPTION = "Ends the work with its result. Call it once, when everything is done, and nothing after it."


def complete_spec(outputs: tuple[Parameter, ...]) -> ToolSpec:
    """The tool with the schema of what is owed; without outputs the narrative is all."""
    narrative = {
        "type": "string",
        "description": "What a person should read: short, the most important first",
    }
    properties: dict[str, Any] = {"narrative": narrative, "outputs": object_schema(outputs)}
    required = ["narrative", "outputs"] if outputs else ["narrative"]
    parameters = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(COMPLETE, DESCRIPTION, parameters, repeatable=True)


@dataclass(frozen=True)
class CompleteTool:
    """Its arguments are the outputs; the completion reads them from the transcript."""

    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:  # noqa: ARG002 - the call itself is the fact
        return ToolOutput("The result is taken.")
