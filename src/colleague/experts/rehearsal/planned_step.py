"""One step in a report, with the calls and file changes that belong to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from colleague.experts.rehearsal.planned_call import (
    PlannedCall,
    arguments_of,
    failed,
    first_line,
    planned_call,
)
from colleague.packages.package import Package
from colleague.packages.process import Process

_CHANGES = {"write": "writes", "edit": "changes"}
_FUNCTION = "function."

Call = Mapping[str, Any]


@dataclass(frozen=True)
class PlannedStep:
    """Number 0 holds what belongs to no step."""

    number: int
    text: str
    status: str
    note: str
    calls: tuple[PlannedCall, ...] = ()
    also: tuple[str, ...] = ()
    """File changes and functions, a few words each."""

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "text": self.text,
            "status": self.status,
            "note": self.note,
            "calls": [call.to_json() for call in self.calls],
            "also": list(self.also),
        }

    def lines(self) -> list[str]:
        note = f" ({self.note})" if self.note else ""
        head = f"{self.number}. {self.text} - {self.status}{note}" if self.number else "Outside the steps"
        lines = [*self.also, *(line for call in self.calls for line in call.lines())]
        return [head, *(f"   {line}" for line in lines)]


def planned_steps(package: Package, process: Process, run: Mapping[str, Any]) -> tuple[PlannedStep, ...]:
    """Every step of the checklist, and one more when calls belong to none."""
    marks = {_number(mark, place): mark for place, mark in enumerate(run.get("steps") or (), start=1)}
    texts = {number: step.text for number, step in enumerate(process.steps, start=1)}
    numbers = sorted(texts.keys() | marks.keys())
    belonging = _by_step(
        run.get("calls") or (), [number for number in numbers if _is_open(marks.get(number))]
    )
    dry_run = bool(run.get("dry_run"))
    steps = []
    for number in numbers:
        mark, calls = marks.get(number, {}), belonging.pop(number, [])
        text, status = str(mark.get("text") or texts.get(number, "")), str(mark.get("status") or "open")
        step = PlannedStep(number, text, status, str(mark.get("note") or ""))
        steps.append(_filled(step, package, calls, dry_run=dry_run))
    others = [call for calls in belonging.values() for call in calls]
    outside = _filled(PlannedStep(0, "", "", ""), package, others, dry_run=dry_run)
    return (*steps, outside) if outside.calls or outside.also else tuple(steps)


def is_operation(call: Call) -> bool:
    """Whether it is `tool.operation`: the framework's own tools have no dot."""
    name = str(call.get("operation", ""))
    return "." in name and not name.startswith(_FUNCTION)


def _number(mark: Mapping[str, Any], place: int) -> int:
    number = mark.get("number")
    return number if isinstance(number, int) else place


def _is_open(mark: Mapping[str, Any] | None) -> bool:
    return mark is None or mark.get("status") in (None, "", "open")


def _by_step(calls: Iterable[Call], unmarked: Sequence[int]) -> dict[int, list[Call]]:
    """Calls up to a mark belong to the step it marks; those after the last mark to the first open step."""
    found: dict[int, list[Call]] = {}
    waiting: list[Call] = []
    for call in calls:
        if call.get("operation") != "mark_step":
            waiting.append(call)
            continue
        number = arguments_of(call).get("step")
        found.setdefault(number if isinstance(number, int) else 0, []).extend(waiting)
        waiting = []
    found.setdefault(unmarked[0] if unmarked else 0, []).extend(waiting)
    return found


def _filled(step: PlannedStep, package: Package, calls: Sequence[Call], *, dry_run: bool) -> PlannedStep:
    operations = tuple(planned_call(package, call, dry_run=dry_run) for call in calls if is_operation(call))
    also = tuple(dict.fromkeys(said for call in calls for said in _also(call)))
    return PlannedStep(step.number, step.text, step.status, step.note, operations, also)


def _also(call: Call) -> Iterator[str]:
    name, arguments = str(call.get("operation", "")), arguments_of(call)
    if name in _CHANGES:
        said = f"{_CHANGES[name]} {arguments.get('path', '')}"
    elif name == "function_result":
        said = f"applies {arguments.get('function', '')}"
    elif name.startswith(_FUNCTION):
        said = f"applies {name.removeprefix(_FUNCTION)} in a session of its own"
    else:
        return
    yield f"{said}: failed: {first_line(call)}" if failed(call) else said
