"""Taking up a process for a task that came in a person's own words."""

from __future__ import annotations

import json
from dataclasses import dataclass

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.experts.runs.opening import ProcessOpening
from colleague.experts.runs.tools.names import BEGIN_PROCESS
from colleague.packages.package import Package
from colleague.packages.parameter import object_schema
from colleague.packages.process import Process
from colleague.store.run import get_run
from colleague.store.steps import add_steps, drop_steps
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx


def begin_process_spec(package: Package) -> ToolSpec:
    return ToolSpec(
        name=BEGIN_PROCESS,
        description=(
            "Begins one of your processes for this task: gives you its playbook and keeps its checklist. "
            "Choose it as How to Operate says; when no process fits, answer without one."
        ),
        parameters={
            "type": "object",
            "properties": {
                "process": {"type": "string", "enum": [process.name for process in package.processes]},
                "inputs": {"type": "object", "description": "The inputs the process declares, by name"},
            },
            "required": ["process", "inputs"],
        },
        repeatable=True,
    )


@dataclass(frozen=True)
class BeginProcessTool:
    """Makes the run a run of that process from here on."""

    database: Database
    package: Package
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        process = self.package.process(request.arguments["process"])
        if process is None:
            return ToolOutput("There is no such process.", is_error=True)
        inputs = request.arguments["inputs"]
        try:
            checked_arguments(ToolSpec(process.name, "", object_schema(process.inputs)), inputs)
        except BadArguments as error:
            return ToolOutput(str(error), is_error=True)
        await self.database.write(lambda tx: _begin(tx, request.run_id, process, inputs))
        opening = ProcessOpening(self.package, process, source="task", read_file=None)
        return ToolOutput(opening.playbook(inputs))


def _begin(tx: Tx, run_id: str, process: Process, inputs: dict[str, object]) -> None:
    run = get_run(tx, run_id)
    if run.process != process.name:
        drop_steps(tx, run_id)
    add_steps(tx, run_id, [step.text for step in process.steps])
    tx.update(runs, {"id": run_id}, process=process.name, inputs=_with_task(run.inputs, inputs))


def _with_task(before: str, inputs: dict[str, object]) -> str:
    """The task stays known beside the inputs the agent took from it."""
    task = json.loads(before).get("task")
    return json.dumps(inputs | ({"task": task} if task else {}), ensure_ascii=False)
