"""One answer of a rehearsal: from the whole past of a run to its next call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.tool_name import ProviderToolNames, safe_name
from colleague.experts.json_schema import SchemaDocument
from colleague.experts.rehearsal.cases import ChosenCase, RehearsalError, chosen_case
from colleague.experts.rehearsal.history import FinishedCall, HistoryItem
from colleague.experts.rehearsal.known import Known, SourcedDocument
from colleague.experts.rehearsal.narrative import call_sentence, narrative
from colleague.experts.rehearsal.plan import SCRATCH, STATE, Move, plan_function, plan_process
from colleague.experts.rehearsal.progress import StepProgress, progress
from colleague.experts.rehearsal.values import arguments_for, outputs_for
from colleague.experts.rehearsal.written import scratch_text, state_text
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.process import Process

NAME = "rehearsal/walkthrough"

_FUNCTION = "function."


@dataclass(frozen=True)
class PlannedAnswer:
    """What the stand-in says, and the one call it makes; without a tool it only speaks."""

    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """`offered` are the schemas of the tools at hand, by the names that providers take."""

    package: Package
    subject: Process | Function
    inputs: Mapping[str, Any]
    history: tuple[HistoryItem, ...]
    offered: Mapping[str, dict[str, Any]]

    def answer(self) -> PlannedAnswer:
        """The next call. Raises ModelFailure when the walk cannot go on in this attempt."""
        walked = progress(self._plan(), self.history)
        if walked.failure is not None:
            return self._after(walked, walked.failure)
        while not self._is_possible(walked.move) and walked.move.tool != "complete":
            walked.go_past()
        move = walked.move
        if not self._offers(move.tool):
            return PlannedAnswer(f"Rehearsal: {self._narrative(walked)}")
        why = self._case.why(move.tool)
        text = f"Rehearsal: {why}" if why else call_sentence(move)
        return PlannedAnswer(text, move.tool, self._arguments(move, walked))

    def _plan(self) -> tuple[Move, ...]:
        if isinstance(self.subject, Function):
            return plan_function(self.package, self.subject, self._offers)
        return plan_process(self.package, self.subject, self.inputs, self._offers)

    def _offers(self, name: str) -> bool:
        return safe_name(name) in self.offered

    def _after(self, walked: StepProgress, failure: FinishedCall) -> PlannedAnswer:
        """A refused write is answered by a look at the file; anything else has failed the step."""
        move = walked.move
        if walked.can_read_again and self._offers("read"):
            return PlannedAnswer(
                f"Rehearsal: reads what {move.subject} holds.", "read", {"path": move.subject}
            )
        if move.step and not walked.told and self._offers("mark_step"):
            arguments = {"step": move.step, "status": "failed", "note": failure.reason}
            return PlannedAnswer(f"Rehearsal: step {move.step} failed.", "mark_step", arguments)
        raise ModelFailure("unknown", f"{NAME}: {self._describe_call(failure)} failed: {failure.reason}")

    def _is_possible(self, move: Move) -> bool:
        if not self._offers(move.tool) or self._case.skips(move.tool):
            return False
        if move.tool == "function_result":
            return self._takes_outputs_of(move.subject)
        return not _is_of_state(move) or self._state_text(move) is not None

    def _takes_outputs_of(self, function: str) -> bool:
        """A process may record only the functions it declares."""
        schema = self.offered["function_result"].get("properties", {}).get("function", {})
        return SchemaDocument(schema).fits(schema, function)

    def _arguments(self, move: Move, walked: StepProgress) -> dict[str, Any]:
        if move.tool == "read":
            return {"path": move.subject}
        if move.tool == "write":
            return {"path": move.subject, "text": self._text(move)}
        if move.tool == "function_result":
            function = self.package.function(move.subject)
            outputs = outputs_for(function.outputs, self._known) if function else {}
            return {"function": move.subject, "outputs": outputs | self._case.outputs_of(move.subject)}
        if move.tool == "mark_step":
            return self._mark(move, walked)
        if move.tool == "complete":
            outputs = outputs_for(self.subject.outputs, self._known) | self._written_outputs()
            return {"narrative": self._narrative(walked), "outputs": outputs}
        schema, given = self.offered[safe_name(move.tool)], self._case.arguments_of(move.tool)
        return arguments_for(schema, self._known, given)

    def _mark(self, move: Move, walked: StepProgress) -> dict[str, Any]:
        left_out = walked.left_out(move.step)
        skipped = [why for each in left_out if (why := self._case.skips(each.tool))]
        missing = [each.label for each in left_out if not self._case.skips(each.tool)]
        if not missing:
            return {"step": move.step, "status": "done", "note": " ".join(skipped) or "rehearsed"}
        note = f"rehearsed without {', '.join(missing)}, which cannot be reached here"
        return {"step": move.step, "status": "skipped", "note": note}

    def _written_outputs(self) -> dict[str, Any]:
        """Of the subject, as the author wrote them."""
        if isinstance(self.subject, Function):
            return self._case.outputs_of(self.subject.name)
        return self._case.outputs

    def _narrative(self, walked: StepProgress) -> str:
        called = [
            (self._describe_call(call), call) for call in self._calls if call.ok and self._is_operation(call)
        ]
        missing = [move for move in walked.left_out() if not self._case.skips(move.tool)]
        return narrative(self.subject.name, called, missing, self._case.narrative)

    def _text(self, move: Move) -> str:
        if move.subject.startswith(SCRATCH):
            return scratch_text(self.subject.name, self.inputs)
        return self._state_text(move) or ""

    def _state_text(self, move: Move) -> str | None:
        read = [
            call for call in self._calls if call.is_of("read") and call.arguments.get("path") == move.subject
        ]
        ships = any(entry.path == move.subject for entry in self.package.entries)
        if not (read and read[-1].ok) and ships:
            return None
        before = read[-1].content if read and read[-1].ok else ""
        return state_text(before, self._step_text(move), self._case.line_of(move.subject))

    def _step_text(self, move: Move) -> str:
        return self.subject.steps[move.step - 1].text if isinstance(self.subject, Process) else ""

    @cached_property
    def _case(self) -> ChosenCase:
        """What the author wrote for what is known so far."""
        process = self.subject.name if isinstance(self.subject, Process) else ""
        try:
            return chosen_case(self.package, process, self._known)
        except RehearsalError as error:
            raise ModelFailure("unknown", f"{NAME}: {error.sentence}") from None

    @cached_property
    def _known(self) -> Known:
        functions, results = [], []
        for call in reversed([call for call in self._calls if call.ok]):
            name = self._describe_call(call)
            if call.is_of("function_result"):
                functions.append(
                    SourcedDocument(str(call.arguments.get("function")), call.arguments.get("outputs"))
                )
            elif name.startswith(_FUNCTION):
                functions.append(SourcedDocument(name.removeprefix(_FUNCTION), call.document))
            elif self._is_operation(call):
                results.append(SourcedDocument(name, call.document))
        return Known(self.inputs, tuple(functions), tuple(results))

    @cached_property
    def _calls(self) -> list[FinishedCall]:
        return [event for event in self.history if isinstance(event, FinishedCall)]

    @cached_property
    def _names(self) -> ProviderToolNames:
        functions = (f"{_FUNCTION}{function.name}" for function in self.package.functions)
        return ProviderToolNames.of([*self.package.operations, *functions])

    def _describe_call(self, call: FinishedCall) -> str:
        return self._names.shown(call.tool)

    def _is_operation(self, call: FinishedCall) -> bool:
        """Whether it is `tool.operation`: the framework's own tools have no dot."""
        name = self._describe_call(call)
        return "." in name and not name.startswith(_FUNCTION)


def _is_of_state(move: Move) -> bool:
    return move.tool == "write" and move.subject.startswith(STATE)
