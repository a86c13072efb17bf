"""What an expert is told when a process, a task or an isolated function begins."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from colleague.agent.render import attempt_failed, wrapped
from colleague.experts.workspace.scratch import scratchpad_path
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.process import Process
from colleague.store.journal import read_messages
from colleague.store.run import Run
from colleague.store.steps import StepMark, steps_of
from colleague.store.tx import Database, Tx

ReadFile = Callable[[str], Awaitable[str | None]]

BEGINS = "Run the process"
DRY = "This is a dry run: what needs a person is described, not done."
FRAMEWORK = (
    "The checklist is numbered from 1 in its own order. Call mark_step as each step is settled: done, "
    "skipped (say why) or failed. A tool call that fails makes its step fail. When you have applied a "
    "function yourself, record its outputs with function_result; a function that is offered as a tool is "
    "called instead. When you are not sure, use escalate. At the end, when no step is open, call complete."
)


@dataclass(frozen=True)
class ProcessOpening:
    """The playbook is our own word; inputs and files are data."""

    package: Package
    process: Process
    source: str
    read_file: ReadFile | None
    database: Database | None = None

    async def first(self, run: Run) -> str:
        inputs = json.loads(run.inputs)
        context = [await self._context(path) for path in self.process.context]
        task = inputs.get("task")
        opening = wrapped(task, "task") if isinstance(task, str) else ""
        asked = [f"It was asked for in these words:\n{opening}"] if opening else []
        dry = [DRY] if run.dry_run else []
        return "\n\n".join([*asked, *dry, self.playbook(inputs), *(part for part in context if part)])

    def playbook(self, inputs: dict[str, Any]) -> str:
        """The process, with its inputs and its scratchpad."""
        shown = {key: value for key, value in inputs.items() if key != "task"}
        data = wrapped(json.dumps(shown, ensure_ascii=False, indent=1), self.source)
        pad = scratchpad_path(self.process, inputs) if self.process.scratchpad else None
        scratch = [f"Its scratchpad is {pad}."] if pad else []
        return "\n\n".join(
            [
                f"{BEGINS} {self.process.name} with these inputs:\n{data}",
                *scratch,
                FRAMEWORK,
                self.process.body,
            ]
        )

    async def _context(self, path: str) -> str:
        text = await self.read_file(path) if self.read_file else None
        return "" if text is None else f"{path}, as it is now:\n{wrapped(text, f'file:{path}')}"

    async def again(self, run: Run, error: str) -> str:
        if self.process.execution.idempotent and not run.took_over:
            return f"{attempt_failed(error)}\n[This one starts again from the first step.]"
        marks: list[StepMark] = []
        if self.process.execution.resume_from_execution_log and self.database is not None:
            marks = await self.database.read(lambda tx: steps_of(tx, run.id))
        failed = attempt_failed("\n".join([error, *_failures(marks)]))
        done = f"{_progress(marks)}What was done before stays done: go on from there."
        return f"{failed}\n[{done}]{await self._news(run)}"

    async def _news(self, run: Run) -> str:
        """The playbook once more, when its text or its inputs are not those that were told last."""
        now = self.playbook(json.loads(run.inputs))
        told = await self.database.read(lambda tx: _last_playbook(tx, run.id)) if self.database else now
        return "" if now in told else f"\n\nThis replaces what you were told before.\n\n{now}"


def _last_playbook(tx: Tx, run_id: str) -> str:
    """The last message that has the playbook in it."""
    parts = (
        part for each in read_messages(tx, run_id) for said in json.loads(each.body) for part in said["parts"]
    )
    texts = [part["content"] for part in parts if part["part_kind"] == "user-prompt"]
    return next((text for text in reversed(texts) if isinstance(text, str) and BEGINS in text), "")


def _failures(marks: list[StepMark]) -> list[str]:
    """The agent's own notes, which may quote what others wrote."""
    failed = [mark for mark in marks if mark.status == "failed"]
    return [f"Step {mark.number} failed: {mark.note or 'no reason was given'}" for mark in failed]


def _progress(marks: list[StepMark]) -> str:
    """Which steps are done, and with which to go on; nothing when there is no log."""
    if not marks:
        return ""
    settled = [str(mark.number) for mark in marks if mark.status in ("done", "skipped")]
    first = next((mark for mark in marks if mark.status in ("failed", "open")), None)
    text = f"Steps that are done: {', '.join(settled) or 'none'}. "
    return text + (f"Go on with step {first.number}: {first.text} " if first else "")


@dataclass(frozen=True)
class TaskOpening:
    """A person's own words, routed by the orchestrator."""

    async def first(self, run: Run) -> str:
        return str(json.loads(run.inputs).get("task", ""))

    async def again(self, run: Run, error: str) -> str:  # noqa: ARG002 - a task has no log
        return f"{attempt_failed(error)}\n[Go on from where you were; what is done is done.]"


@dataclass(frozen=True)
class FunctionOpening:
    """The declared inputs of an isolated function, and nothing else."""

    function: Function
    inputs: dict[str, Any]

    async def first(self, run: Run) -> str:  # noqa: ARG002 - a child knows nothing of the run
        data = wrapped(json.dumps(self.inputs, ensure_ascii=False, indent=1), "inputs")
        return f"Apply {self.function.name} to these inputs, then call complete with its outputs.\n{data}"

    async def again(self, run: Run, error: str) -> str:  # noqa: ARG002
        return f"{attempt_failed(error)}\n[Go on from where you were.]"
