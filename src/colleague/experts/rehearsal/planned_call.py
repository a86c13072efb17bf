"""One call in a report: what was asked for, and what would come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from colleague.packages.package import Package
from colleague.packages.shape import Schema
from colleague.packages.tool_declaration import Operation

_LONGEST = 400
SIMULATED = "rehearsal"
"""The source of an answer that was made up in the place of a tool's."""
_INSTEAD = {"auto": "simulated", "confirm": "would ask first", "manual": "would be left as a draft"}
_ENDS = {
    "finished": "ran",
    "answered": "answered by a person",
    "unknown": "its end is unknown",
    "asked": "waits for a yes",
}
_SENT = ("finished", "unknown", "started")
_SOUGHT = ("would ask first", "waits for a yes")


@dataclass(frozen=True)
class PlannedCall:
    """A call of an operation. `effect` says what happened, or what would in a real run."""

    id: str
    operation: str
    tier: str
    effect: str
    inputs: Mapping[str, Any]
    expected: str
    sent: bool = False
    """Whether a server really got it, whatever it answered."""

    @property
    def asks_first(self) -> bool:
        return self.effect in _SOUGHT

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        inputs = shortened(json.dumps(self.inputs, ensure_ascii=False))
        lines = [f"{self.operation} ({self.tier}): {self.effect}", f"  with {inputs}"]
        return [*lines, f"  expected: {self.expected}"] if self.expected else lines


def planned_call(package: Package, call: Mapping[str, Any], *, dry_run: bool) -> PlannedCall:
    operation = str(call.get("operation", ""))
    tier = str(call.get("tier") or package.tier(operation))
    return PlannedCall(
        id=str(call.get("id", "")),
        operation=operation,
        tier=tier,
        effect=_effect(call, tier, dry_run=dry_run),
        inputs=arguments_of(call),
        expected=_expected(_declared(package, operation)),
        sent=call.get("status") in _SENT and source_of(call) != SIMULATED,
    )


def arguments_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call; nothing when a model wrote something else than an object."""
    arguments = call.get("arguments")
    return arguments if isinstance(arguments, Mapping) else {}


def failed(call: Mapping[str, Any]) -> bool:
    return bool(call.get("is_error")) or call.get("status") in ("refused", "not_run")


def first_line(call: Mapping[str, Any]) -> str:
    result = call.get("result")
    text = result.get("text", "") if isinstance(result, Mapping) else result
    return next((line.strip() for line in str(text or "").splitlines() if line.strip()), "no reason is known")


def source_of(call: Mapping[str, Any]) -> str:
    result = call.get("result")
    return str(result.get("source") or "") if isinstance(result, Mapping) else ""


def shortened(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def shape_of(schema: Schema) -> str:
    """Names and types in a few words: `contact_id: string, open_deal_ids: array`."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return ""
    return ", ".join(f"{name}: {type_of(part)}" for name, part in properties.items())


def type_of(schema: Any) -> str:
    kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _effect(call: Mapping[str, Any], tier: str, *, dry_run: bool) -> str:
    status = str(call.get("status", ""))
    if failed(call):
        word = "not run" if status == "not_run" else "failed"
        return f"{word}: {shortened(first_line(call))}"
    if status == "described":
        return _INSTEAD.get(tier, "simulated")
    if status == "finished" and source_of(call) == SIMULATED:
        return "simulated"
    if status == "drafted":
        return "would be left as a draft" if dry_run else "left as a draft"
    return _ENDS.get(status, status or "never made")


def _declared(package: Package, name: str) -> Operation | None:
    tool_name, _, operation = name.partition(".")
    tool = package.tool(tool_name)
    return tool.operation(operation) if tool else None


def _expected(operation: Operation | None) -> str:
    if operation is None:
        return ""
    shape = shape_of(operation.output)
    said = " ".join(operation.description.split())
    return f"{said} Returns {shape}.".strip() if shape else said
