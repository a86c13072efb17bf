"""References by name: a trigger, process, function or tool is named by a word, never by a path."""

from __future__ import annotations

from collections.abc import Iterator

from colleague.packages.finding import Findings
from colleague.packages.folder import normal_path
from colleague.packages.function import Function
from colleague.packages.mark import Mark
from colleague.packages.package import Package
from colleague.packages.part_name import DRIVE, is_path
from colleague.packages.process import Process


def check_references(package: Package, findings: Findings) -> None:
    for what, name, at in _references(package):
        if is_path(name):
            message = f"{what} {name[:60]!r} is a path"
            findings.add("reference-path", at, message, "write the plain name, such as inbound-email-triage")
    for function in package.functions:
        for index, path in enumerate(function.knowledge):
            if normal_path(path) is None or DRIVE.match(path):
                message = f"knowledge {path[:80]!r} leads out of the package"
                hint = "use a path such as knowledge/facts.md"
                findings.add("path-outside-package", function.mark("knowledge", index), message, hint)


def _references(package: Package) -> Iterator[tuple[str, str, Mark]]:
    for trigger in package.triggers:
        yield "the trigger's name", trigger.name, trigger.mark("name")
        yield "the process", trigger.process, trigger.mark("process")
        yield "requires_tool", trigger.requires_tool, trigger.mark("requires_tool")
    for process in package.processes:
        yield "the trigger", process.trigger, process.mark("trigger")
        for index, name in enumerate(process.functions):
            yield "the function", name, process.mark("functions", index)
    users: tuple[Function | Process, ...] = (*package.functions, *package.processes)
    for item in users:
        for index, name in enumerate(item.tools):
            yield "the tool", name, item.mark("tools", index)
