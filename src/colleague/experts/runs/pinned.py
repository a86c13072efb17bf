"""What of an expert's work stays word for word when its conversation is shortened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from colleague.agent.render import wrapped
from colleague.experts.runs.opening import FunctionOpening, ProcessOpening
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.parameter import Parameter, object_schema
from colleague.packages.process import Process
from colleague.store.run import Run, get_run
from colleague.store.steps import StepMark, steps_of
from colleague.store.tx import Database, Tx

ASKED = "It was asked for in these words:"
SO_FAR = "The checklist so far; each step is settled once:"
OWED = "What complete takes as outputs:"


@dataclass(frozen=True)
class PinnedWork:
    """The task, the playbook with its inputs, how far the checklist is, and the outputs that are owed."""

    package: Package
    database: Database

    async def __call__(self, run: Run) -> str:
        """As the run is in the store now: a task may have taken up a process meanwhile."""

        def work(tx: Tx) -> tuple[Run, list[StepMark]]:
            return get_run(tx, run.id), steps_of(tx, run.id)

        stored, steps = await self.database.read(work)
        process = self.package.process(stored.process) if stored.process else None
        inputs: dict[str, Any] = json.loads(stored.inputs)
        task = inputs.get("task")
        asked = [f"{ASKED}\n{wrapped(task, 'task')}"] if isinstance(task, str) and task else []
        return "\n\n".join([*asked, *(self._of_process(process, inputs, steps) if process else ())])

    def _of_process(
        self, process: Process, inputs: dict[str, Any], steps: Sequence[StepMark]
    ) -> tuple[str, ...]:
        playbook = ProcessOpening(self.package, process, "event", None).playbook(inputs)
        return playbook, *_checklist(steps), *_owed(process.outputs)


@dataclass(frozen=True)
class PinnedFunction:
    """The inputs of an isolated function, and the outputs that it owes."""

    function: Function
    inputs: dict[str, Any]

    async def __call__(self, run: Run) -> str:
        opening = await FunctionOpening(self.function, self.inputs).first(run)
        return "\n\n".join([opening, *_owed(self.function.outputs)])


def _checklist(steps: Sequence[StepMark]) -> list[str]:
    lines = [f"{step.number}. {step.status}: {step.text}" for step in steps]
    return ["\n".join([SO_FAR, *lines])] if lines else []


def _owed(outputs: tuple[Parameter, ...]) -> list[str]:
    return [f"{OWED}\n{json.dumps(object_schema(outputs), ensure_ascii=False)}"] if outputs else []
