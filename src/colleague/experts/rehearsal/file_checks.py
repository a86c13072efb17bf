"""Whether what `rehearsal.yaml` names and says is what the package declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from colleague.experts.rehearsal.rehearsal_file import (
    RehearsalCase,
    RehearsalFile,
    has_rehearsal_file,
    read_rehearsal_file,
)
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.function import Function
from colleague.packages.mark import Mark
from colleague.packages.package import Package
from colleague.packages.parameter import Parameter
from colleague.packages.process import Process
from colleague.packages.shape import Schema
from colleague.suggest import did_you_mean

_MOST_HINTS = 50  # comparing names takes time
_PLAIN = frozenset({"type", "enum", "items", "properties", "description", "title", "default", "examples"})
_SCALARS = {"string": str, "boolean": bool, "integer": int, "number": int | float}


def check_rehearsal(package: Package, findings: Findings) -> None:
    """What is wrong with the package's `rehearsal.yaml`; nothing when it has none."""
    if has_rehearsal_file(package):
        file = read_rehearsal_file(PackageFolder(package.root, findings))
        check_rehearsal_file(file, package, findings)


def check_rehearsal_file(file: RehearsalFile, package: Package, findings: Findings) -> None:
    checks = _Checks(package, findings)
    for name in file.results:
        checks.operation(name, file.mark("results", name))
    for case in file.cases:
        checks.case(case)


@dataclass(frozen=True)
class _Checks:
    package: Package
    findings: Findings

    def case(self, case: RehearsalCase) -> None:
        processes = [each for each in self.package.processes if case.process in ("", each.name)]
        if case.process and not processes:
            known = (each.name for each in self.package.processes)
            self._unknown("process", case.process, case.mark("process"), known)
        for part in ("when", "holds"):
            for name in getattr(case, part):
                self.operation(".".join(name.split(".")[:2]), case.mark(part, name))
        for name in case.operations:
            self.operation(name, case.mark("operations", name))
        for name, outputs in case.functions.items():
            self._function(name, outputs, case)
        if processes:
            self._outputs(case.outputs, processes, case, "outputs")

    def operation(self, name: str, at: Mark) -> None:
        """One of a tool whose file lists none may be the server's."""
        if name not in self._operations and name.partition(".")[0] not in self._open_tools:
            self._unknown("operation", name, at, self._operations)

    def _function(self, name: str, outputs: dict[str, Any], case: RehearsalCase) -> None:
        function = self.package.function(name)
        if function is None:
            known = (each.name for each in self.package.functions)
            self._unknown("function", name, case.mark("functions", name), known)
        else:
            self._outputs(outputs, [function], case, "functions", name)

    def _outputs(
        self, outputs: dict[str, Any], parts: Sequence[Function | Process], case: RehearsalCase, *path: str
    ) -> None:
        """Each must be an output of one of `parts`."""
        for name, value in outputs.items():
            declared = [each for part in parts for each in part.outputs if each.name == name]
            at = case.mark(*path, name)
            if not declared:
                self._unknown("output", name, at, (each.name for part in parts for each in part.outputs))
            elif not any(_fits(each.schema, value) for each in declared):
                message = f"{name} is not what {declared[0].at} declares"
                self.findings.add("rehearsal-value", at, message, self._value_hint(declared[0], value))

    def _unknown(self, what: str, name: str, at: Mark, known: Iterable[str]) -> None:
        message = f"there is no {what} {name[:60]!r}"
        hint = self._near(name, known) or f"correct the name, or add the {what}"
        self.findings.add("rehearsal-name-unknown", at, message, hint)

    def _value_hint(self, declared: Parameter, value: object) -> str:
        allowed = [each for each in declared.schema.get("enum", ()) if isinstance(each, str)]
        if not allowed:
            return "write a value of the declared type"
        return self._near(str(value), allowed) or f"use one of {', '.join(allowed)}"

    def _near(self, name: str, known: Iterable[str]) -> str:
        return did_you_mean(name, known) if len(self.findings) < _MOST_HINTS else ""

    @cached_property
    def _operations(self) -> frozenset[str]:
        return frozenset(self.package.operations)

    @cached_property
    def _open_tools(self) -> frozenset[str]:
        listed = {tool.name for tool in self.package.tools if tool.operations}
        return frozenset(self.package.manifest.requires_tools) - listed


def _fits(schema: Schema, value: Any) -> bool:
    return _plainly_fits(schema, value) or _fits_when_filled(schema, value)


def _plainly_fits(schema: Schema, value: Any) -> bool:
    """Whether it surely fits. Importing what judges any schema takes as long as reading a package."""
    kind = schema.get("type")
    if not isinstance(kind, str | None) or schema.keys() - _PLAIN:
        return False
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        return False
    if kind == "array":
        return isinstance(value, list) and all(_plainly_fits(schema.get("items", {}), each) for each in value)
    if kind == "object":
        parts = schema.get("properties", {})
        return isinstance(value, dict) and all(
            _plainly_fits(parts.get(name, {}), each) for name, each in value.items()
        )
    return kind is None or (
        isinstance(value, _SCALARS[kind]) and isinstance(value, bool) == (kind == "boolean")
    )


def _fits_when_filled(schema: Schema, value: Any) -> bool:
    """A text with braces becomes known in the run, so only its type is judged."""
    from colleague.experts.json_schema import SchemaDocument
    from colleague.experts.rehearsal.case_text import filled_value
    from colleague.experts.rehearsal.known import Known

    if isinstance(value, str) and filled_value(value, Known()) != value:
        schema = {"type": schema["type"]} if "type" in schema else {}
    return SchemaDocument(schema).fits(schema, value)
