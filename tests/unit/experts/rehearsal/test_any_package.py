"""Any package that follows the spec can be rehearsed to its end, also when its tools fail on the way."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colleague.experts.rehearsal.sample import sample
from colleague.packages.package import Package, read_package
from colleague.packages.parameter import object_schema
from colleague.packages.process import Process
from tests.unit.experts.rehearsal.stage import Said, Stage, data, error
from tests.unit.packages.test_unseen import OPERATION, packages

NOISE = [
    "`yes/no`",
    "`deal.amount`",
    "`../../etc/passwd`",
    "`state/{id}.md`",
    "`scratch/{id}/{nothing}.md`",
    "`` ` ``",
]
OPERATIONS = st.lists(OPERATION, min_size=2, max_size=4, unique_by=lambda operation: operation["name"])
FAULTS = st.lists(st.booleans(), max_size=12)


def satisfiable(files: dict[str, str]) -> dict[str, str]:
    """The generator puts any enum with any type; a number among texts is what nobody could return."""
    return {path: _satisfiable(text) if text.startswith("---\n") else text for path, text in files.items()}


def _satisfiable(text: str) -> str:
    fields, body = _parts(text)
    for parameter in [*fields.get("inputs", ()), *fields.get("outputs", ())]:
        if parameter["type"] != "string":
            parameter.pop("enum", None)
    return f"---\n{yaml.safe_dump(fields, sort_keys=False)}---\n{body}"


def _parts(text: str) -> tuple[dict[str, Any], str]:
    """A name or a description may have three dashes in it, too."""
    _, head, body = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(head) or {}, body


@st.composite
def rehearsable(draw: Any) -> dict[str, str]:
    """A package whose checklists name what it has, and some things that nobody has."""
    files = satisfiable(draw(packages()))
    manifest = yaml.safe_load(files["expert.yaml"])
    components = manifest["components"]
    files["tools/desk.yaml"] = yaml.safe_dump({"name": "desk", "operations": draw(OPERATIONS)})
    components["tools"] = [*components.get("tools", ()), "tools/desk.yaml"]
    manifest["requires"] = {"tools": [*manifest.get("requires", {}).get("tools", ()), "desk"]}
    files["expert.yaml"] = yaml.safe_dump(manifest)
    known = list(_known(files, components))
    for path in components.get("processes", ()):
        steps = draw(st.lists(st.lists(st.sampled_from([*known, *NOISE]), max_size=4), max_size=4))
        files[path.removeprefix("./")] += "\n\n" + "".join(
            f"- [ ] do {' and '.join(step)}\n\n" for step in steps
        )
    for path in components["functions"]:
        files[path.removeprefix("./")] += (
            f"\n{' '.join(draw(st.lists(st.sampled_from(known), max_size=3)))}\n"
        )
    return files


def _known(files: dict[str, str], components: dict[str, Any]) -> Iterator[str]:
    for path in (*components.get("knowledge", ()), *components.get("state", ())):
        yield f"`{path}`"
    for path in components["functions"]:
        yield f"`{_parts(files[path.removeprefix('./')])[0]['name']}`"
    for path in components.get("tools", ()):
        tool = yaml.safe_load(files[path.removeprefix("./")])
        yield from (f"`{tool['name']}.{operation['name']}`" for operation in tool["operations"])


class Office:
    """Answers as the package says, or with an error, as long as there are faults left."""

    def __init__(self, package: Package, faults: list[bool]) -> None:
        self.package = package
        self.faults = list(faults)

    def answer(self, name: str, arguments: dict[str, Any]) -> Said:
        if self.faults and self.faults.pop():
            return error(f"{name} is down")
        if name.startswith("function."):
            return self._child(name.removeprefix("function."), arguments)
        tool, _, operation = name.partition(".")
        declared = self.package.tool(tool)
        found = declared.operation(operation) if declared else None
        return data(sample(found.output if found else {}))

    def _child(self, name: str, inputs: dict[str, Any]) -> Said:
        function = self.package.function(name)
        assert function is not None
        child = Office(self.package, [])
        stage = Stage(self.package, None, inputs, self.operations, child.answer, function=function).run()
        assert stage.outputs is not None
        jsonschema_rs.validator_for(object_schema(function.outputs)).validate(stage.outputs)
        return Said(json.dumps(stage.outputs))

    @property
    def operations(self) -> dict[str, Any]:
        return {
            f"{tool.name}.{operation.name}": operation.input
            for tool in self.package.tools
            for operation in tool.operations
            if "." not in tool.name
        }


def rehearse(package: Package, process: Process, faults: list[bool]) -> Stage:
    office = Office(package, faults)
    inputs = sample(object_schema(process.inputs))
    stage = Stage(package, process, inputs, office.operations, office.answer)
    return stage.run(most_attempts=len(faults) + 1)


@given(files=rehearsable(), faults=FAULTS)
@settings(
    max_examples=14,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_process_comes_to_its_end_with_outputs_that_fit(
    files: dict[str, str], faults: list[bool]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        reading = read_package(Path(folder))
        assert [str(finding) for finding in reading.findings.errors] == []
        assert reading.package is not None
        for process in reading.package.processes:
            if not process.steps:
                faults = []
            stage = rehearse(reading.package, process, faults)
            assert stage.outputs is not None, stage.calls
            jsonschema_rs.validator_for(object_schema(process.outputs)).validate(stage.outputs)
            settled = [step for step, status, _ in stage.marks if status != "failed"]
            assert settled == list(range(1, len(process.steps) + 1))
