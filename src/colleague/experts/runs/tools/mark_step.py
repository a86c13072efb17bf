"""Ticking off the checklist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.experts.runs.tools.names import MARK_STEP
from colleague.store.run import get_run
from colleague.store.steps import mark_step, steps_of
from colleague.store.tx import Database, Tx

SPEC = ToolSpec(
    name=MARK_STEP,
    description=(
        "Marks one step of the checklist, in order, as soon as it is settled: done; skipped, when it does "
        "not apply (say why); failed, when it cannot be done now. A failed step ends this attempt."
    ),
    parameters={
        "type": "object",
        "properties": {
            "step": {"type": "integer", "minimum": 1, "description": "Number in the checklist, from 1"},
            "status": {"type": "string", "enum": ["done", "skipped", "failed"]},
            "note": {"type": "string", "description": "One sentence; why, when skipped or failed"},
        },
        "required": ["step", "status"],
    },
    repeatable=True,
)


@dataclass(frozen=True)
class MarkStepTool:
    """Writes the execution log, which belongs to the framework."""

    database: Database
    spec: ToolSpec = SPEC

    async def call(self, request: ToolRequest) -> ToolOutput:
        return await self.database.write(lambda tx: _mark(tx, request.run_id, request.arguments))


def _mark(tx: Tx, run_id: str, arguments: dict[str, Any]) -> ToolOutput:
    number, status = int(arguments["step"]), arguments["status"]
    if status == "skipped" and not arguments.get("note", "").strip():
        return ToolOutput(f"Say in note why step {number} is skipped.", is_error=True)
    attempt = get_run(tx, run_id).attempt
    if not mark_step(tx, run_id, number, status, arguments.get("note", ""), attempt):
        count = len(steps_of(tx, run_id))
        there = f"there are steps 1 to {count}" if count else "no process with a checklist has begun"
        return ToolOutput(f"There is no step {number}; {there}.", is_error=True)
    left = [step.number for step in steps_of(tx, run_id) if step.status == "open"]
    more = f"Next is step {left[0]}." if left else "Every step is marked."
    return ToolOutput(f"Step {number} is {status}. {more}")
