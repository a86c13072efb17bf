"""Handing a decision to a person when the agent is not sure."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.tools.names import ESCALATE

SPEC = ToolSpec(
    name=ESCALATE,
    description=(
        "Asks a person to decide, when your confidence is low or your rules say so. They can agree, answer "
        "in their own words, or stop the work. Say it so that one word can answer it."
    ),
    parameters={
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "What is unclear, and why"},
            "context": {"type": "string", "description": "What a person must know to decide"},
            "recommendation": {"type": "string", "description": "What you would do"},
        },
        "required": ["reason", "recommendation"],
    },
    repeatable=True,
)


@dataclass(frozen=True)
class EscalateTool:
    """Reached when a person agrees, or when the policy wants nobody asked."""

    asks: bool
    spec: ToolSpec = SPEC

    async def call(self, request: ToolRequest) -> ToolOutput:
        recommended = request.arguments["recommendation"]
        if self.asks:
            return ToolOutput(f"A person agrees. Go on as you recommend: {recommended}")
        return ToolOutput(
            "The policy of this package asks nobody. Go on as you recommend, and say so at the end."
        )
