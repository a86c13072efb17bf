"""The planned execution report: what a process would do, step by step, and what it would ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from colleague.experts.json_schema import SchemaDocument
from colleague.experts.rehearsal.planned_call import PlannedCall, type_of
from colleague.experts.rehearsal.planned_step import PlannedStep, is_operation, planned_steps
from colleague.packages.package import Package
from colleague.packages.parameter import object_schema
from colleague.packages.process import Process

_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class OperationCount:
    """A declared operation, and how often it was called; 0 means that it was not reached."""

    operation: str
    tier: str
    calls: int


@dataclass(frozen=True)
class ReturnedOutput:
    """An output: its type as declared, and the type of what came; nothing came where that is empty."""

    name: str
    declared: str
    returned: str


@dataclass(frozen=True)
class ReturnedOutputs:
    """What a process returned. `problems` says where it does not fit what the process declares."""

    outputs: tuple[ReturnedOutput, ...]
    problems: tuple[str, ...]
    came: bool

    @property
    def fits(self) -> bool:
        return self.came and not self.problems

    def to_json(self) -> dict[str, Any]:
        shape = [asdict(each) for each in self.outputs]
        return {"fits": self.fits, "shape": shape, "problems": list(self.problems)}

    def lines(self) -> list[str]:
        if not self.came:
            return ["Returned nothing: the process did not come to its end."]
        if not self.outputs:
            return ["Returned nothing, as it declares."]
        word = "fits what it declares" if self.fits else "does not fit what it declares"
        shape = [f"   {each.name}: {each.returned or 'missing'} ({each.declared})" for each in self.outputs]
        return [f"Returned, which {word}:", *shape, *(f"   {problem}" for problem in self.problems)]


@dataclass(frozen=True)
class Report:
    """The whole report, as data and as lines for people."""

    expert: str
    version: str
    process: str
    dry_run: bool
    outcome: str
    error: str
    attempts: int
    steps: tuple[PlannedStep, ...]
    outputs: ReturnedOutputs
    operations: tuple[OperationCount, ...]
    narrative: str

    @property
    def ok(self) -> bool:
        """Whether the process came to its end with what it declares."""
        return self.outcome == "completed" and self.outputs.fits

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def approvals(self) -> tuple[PlannedCall, ...]:
        """The calls for which a person would be asked."""
        return tuple(call for call in self.calls if call.asks_first)

    @property
    def ran(self) -> tuple[str, ...]:
        """The operations that were really called, each once."""
        return tuple(dict.fromkeys(call.operation for call in self.calls if call.sent))

    @property
    def not_reached(self) -> tuple[str, ...]:
        return tuple(each.operation for each in self.operations if not each.calls)

    def to_json(self) -> dict[str, Any]:
        return {
            "expert": self.expert,
            "version": self.version,
            "process": self.process,
            "dry_run": self.dry_run,
            "ok": self.ok,
            "outcome": self.outcome,
            "error": self.error,
            "attempts": self.attempts,
            "ran": list(self.ran),
            "steps": [step.to_json() for step in self.steps],
            "approvals": [call.to_json() for call in self.approvals],
            "outputs": self.outputs.to_json(),
            "operations": [asdict(each) | {"reached": each.calls > 0} for each in self.operations],
            "narrative": self.narrative,
        }

    def lines(self) -> list[str]:
        steps = [line for step in self.steps for line in step.lines()]
        parts = [self._head(), steps, self._asked(), self.outputs.lines(), self._reach(), [self.narrative]]
        return [line for part in parts if any(part) for line in (*part, "")][:-1]

    def _head(self) -> list[str]:
        kind = "Dry run" if self.dry_run else "Run"
        tries = f" after {self.attempts} attempts" if self.attempts > 1 else ""
        ended = f"{self.outcome or 'not ended'}{tries}"
        head = f"{kind} of {self.process} of {self.expert} {self.version}: {ended}"
        lines = [head, self.error] if self.error else [head]
        return [*lines, self._really_ran()] if self.dry_run else lines

    def _really_ran(self) -> str:
        if not self.ran:
            return "Nothing was really called."
        return f"Really called, with whatever they changed: {', '.join(self.ran)}"

    def _asked(self) -> list[str]:
        if not self.approvals:
            return ["Nobody would be asked."]
        return ["A person would be asked about:", *(f"   {each.operation}" for each in self.approvals)]

    def _reach(self) -> list[str]:
        if not self.operations:
            return ["The package declares no operation."]
        return ["Operations of the package:", *(f"   {_reached(each)}" for each in self.operations)]


def execution_report(package: Package, process: Process, run: Mapping[str, Any]) -> Report:
    """The report of a run. `run` is the document of `run show --json`."""
    return Report(
        expert=package.name,
        version=package.manifest.version,
        process=process.name,
        dry_run=bool(run.get("dry_run")),
        outcome=str(run.get("outcome") or run.get("status") or ""),
        error=str(run.get("error") or ""),
        attempts=len(run.get("attempts") or ()),
        steps=planned_steps(package, process, run),
        outputs=_outputs(process, run.get("outputs")),
        operations=_operations(package, run.get("calls") or ()),
        narrative=str(run.get("narrative") or ""),
    )


def _operations(package: Package, calls: Iterable[Mapping[str, Any]]) -> tuple[OperationCount, ...]:
    called = [str(call.get("operation")) for call in calls if is_operation(call)]
    return tuple(OperationCount(name, package.tier(name), called.count(name)) for name in package.operations)


def _reached(each: OperationCount) -> str:
    times = {0: "not reached", 1: "reached"}.get(each.calls, f"reached {each.calls} times")
    return f"{each.operation} ({each.tier}): {times}"


def _outputs(process: Process, outputs: Any) -> ReturnedOutputs:
    values = dict(outputs) if isinstance(outputs, Mapping) else {}
    came = isinstance(outputs, Mapping) or not process.outputs
    declared = {each.name: type_of(each.schema) for each in process.outputs}
    names = dict.fromkeys([*declared, *values])
    listed = [
        ReturnedOutput(
            name, declared.get(name, "not declared"), _kind(values[name]) if name in values else ""
        )
        for name in names
    ]
    problems = SchemaDocument(object_schema(process.outputs)).problems(values) if came else []
    return ReturnedOutputs(tuple(listed), tuple(problems[:_MOST_PROBLEMS]), came)


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else names.get(type(value), "any")
