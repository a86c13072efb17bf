"""Two runs side by side: what each came to, and what each did, with equal things in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from colleague.gateway.page.timeline import took
from colleague.run_document import CallDocument, RunDocument, StepDocument


@dataclass(frozen=True)
class ComparedLine:
    """One line; None on the side that has nothing there."""

    name: str
    one: Any
    other: Any

    @property
    def differs(self) -> bool:
        return bool(self.one != self.other)


def compared_facts(one: RunDocument, other: RunDocument) -> list[ComparedLine]:
    sides = zip(_facts(one), _facts(other), strict=True)
    return [ComparedLine(name, left, right) for (name, left), (_, right) in sides]


def _facts(run: RunDocument) -> list[tuple[str, str]]:
    usage = run["usage"]
    return [
        ("Expert", f"{run['expert']} {run['version']}"),
        ("Process", run["process"] or "a task in words"),
        ("State", (run["outcome"] or run["status"]).replace("_", " ")),
        ("Error", run["error"] or ""),
        ("Model", run["model"]),
        ("Took", took(run["created_at"], run["ended_at"])),
        ("Attempts", str(len(run["attempts"]))),
        ("Calls", str(len(run["calls"]))),
        ("Questions", str(len(run["approvals"]))),
        ("Tokens", f"{usage['input_tokens']} in, {usage['output_tokens']} out"),
        ("Cost", f"${usage['cost']:.4f}" if usage["cost"] else ""),
    ]


def compared_steps(one: RunDocument, other: RunDocument) -> list[ComparedLine]:
    """By their number; a step whose text is another now stands there with both."""
    left, right = ({each["number"]: each for each in run["steps"]} for run in (one, other))
    return [
        ComparedLine(
            _step_text(left.get(number), right.get(number)), *(_mark(side, number) for side in (left, right))
        )
        for number in sorted({*left, *right})
    ]


def _step_text(one: StepDocument | None, other: StepDocument | None) -> str:
    return " / ".join(dict.fromkeys(each["text"] for each in (one, other) if each is not None))


def _mark(steps: dict[int, StepDocument], number: int) -> str | None:
    return steps[number]["status"] if number in steps else None


def compared_calls(one: RunDocument, other: RunDocument) -> list[ComparedLine]:
    """In their order, the same operations beside each other."""
    lines: list[ComparedLine] = []
    left, right = ([each["operation"] for each in run["calls"]] for run in (one, other))
    for _, start, end, first, last in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        lines += _beside(one["calls"][start:end], other["calls"][first:last])
    return lines


def _beside(one: Sequence[CallDocument], other: Sequence[CallDocument]) -> list[ComparedLine]:
    if [each["operation"] for each in one] == [each["operation"] for each in other]:
        pairs = zip(one, other, strict=True)
        return [ComparedLine(left["operation"], _call(left), _call(right)) for left, right in pairs]
    left = [ComparedLine(each["operation"], _call(each), None) for each in one]
    return left + [ComparedLine(each["operation"], None, _call(each)) for each in other]


def _call(call: CallDocument) -> dict[str, Any]:
    """What can be equal in two runs: no ids and no times."""
    state = "failed" if call["is_error"] else call["status"]
    result = call["result"] or {}
    return {"arguments": call["arguments"], "state": state, "result": result.get("text", "")}
