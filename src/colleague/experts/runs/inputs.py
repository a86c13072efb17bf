"""Inputs of a process, as a person types them. Imports nothing that takes time."""

from __future__ import annotations

import json
from typing import Any

from colleague.errors import NotFound, UsageError
from colleague.experts.expert import find_expert
from colleague.home import Home
from colleague.packages.package import Package
from colleague.packages.parameter import Parameter
from colleague.packages.process import Process
from colleague.run_document import RunDocument
from colleague.suggest import did_you_mean

REHEARSAL = "rehearsal/walkthrough"
"""The model that walks through a checklist by itself."""


def find_process(package: Package, name: str) -> Process:
    process = package.process(name)
    if process is None:
        known = [each.name for each in package.processes]
        hint = did_you_mean(name, known) or f"it has: {', '.join(known) or 'no process'}"
        raise NotFound(f"{package.name} has no process {name!r}", hint=hint)
    return process


def parse_inputs(process: Process, given: list[str]) -> dict[str, Any]:
    """`name=value` pairs as typed values. Raises UsageError."""
    inputs: dict[str, Any] = {}
    by_name = {parameter.name: parameter for parameter in process.inputs}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--input {pair!r} is no name=value", hint="write --input message_id=m-1")
        if process.inputs and name not in by_name:
            hint = did_you_mean(name, by_name) or f"it takes: {', '.join(by_name)}"
            raise UsageError(f"{process.name} has no input {name!r}", hint=hint)
        inputs[name] = _typed(by_name.get(name), text)
    return inputs


def changed_inputs(home: Home, run: RunDocument, given: list[str]) -> dict[str, Any]:
    """`name=value` pairs as the process of this run types them."""
    if not given:
        return {}
    package = find_expert(home, run["expert"]).load()
    return parse_inputs(find_process(package, run["process"]), given)


def _typed(parameter: Parameter | None, text: str) -> Any:
    """Text where text is wanted, JSON where anything else is."""
    if parameter is not None and parameter.schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
