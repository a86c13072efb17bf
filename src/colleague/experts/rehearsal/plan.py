"""The walk through a process or a function, as a list of moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from colleague.agent.models.tool_name import safe_name
from colleague.experts.rehearsal.step_verb import only_reads
from colleague.experts.workspace.file_name import file_name_part
from colleague.experts.workspace.scratch import scratchpad_path
from colleague.packages.checklist import Step
from colleague.packages.folder import normal_path
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.process import Process

SCRATCH, STATE = "scratch/", "state/"
_READABLE = ("knowledge/", "functions/", "processes/", "persona/", "learnings/")
_CODE = re.compile(r"`([^`\n]+)`")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

Offers = Callable[[str], bool]


@dataclass(frozen=True)
class Move:
    """One call of the walk.

    `subject` is the path, function or step it is about; `step` is 0 outside a checklist. When it `may_fail`,
    the walk goes on without it."""

    tool: str
    subject: str = ""
    step: int = 0
    may_fail: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return safe_name(self.tool), self.subject

    @property
    def label(self) -> str:
        return self.subject if self.tool in ("read", "write", "function_result") else self.tool


COMPLETE = Move("complete")


def plan_process(
    package: Package, process: Process, inputs: Mapping[str, Any], offers: Offers
) -> tuple[Move, ...]:
    """Every step in order; without a checklist the functions and operations that the process declares."""
    walk = _Walk(package, offers)
    if process.steps:
        return (*walk.steps(process, inputs), COMPLETE)
    functions = [move for name in process.functions for move in walk.function(name)]
    return (*_once(functions), *_once(walk.declared(process.tools)), COMPLETE)


def plan_function(package: Package, function: Function, offers: Offers) -> tuple[Move, ...]:
    """What an isolated function reads and calls in its own session."""
    walk = _Walk(package, offers)
    listed = function.knowledge if offers("read") else ()
    reading = [walk.read(_knowledge_path(package, each)) for each in listed]
    return (*_once([*reading, *walk.named(function.body)]), COMPLETE)


def filled(path: str, process: Process, inputs: Mapping[str, Any]) -> str:
    """A path from the top of the tree, with inputs in the place of its placeholders."""
    if normal_path(path) == normal_path(process.scratchpad) and (pad := scratchpad_path(process, inputs)):
        return pad

    def value(match: re.Match[str]) -> str:
        return file_name_part(str(inputs.get(match[1], match[1])))

    return _PLACEHOLDER.sub(value, path).removeprefix("./")


class _Walk:
    """Moves for what the texts of a package name."""

    def __init__(self, package: Package, offers: Offers) -> None:
        self._package = package
        self._offers = offers
        self._files = {entry.path for entry in package.entries}
        self._operations = set(package.operations)

    def steps(self, process: Process, inputs: Mapping[str, Any]) -> Iterator[Move]:
        scratched: set[str] = set()
        for number, step in enumerate(process.steps, start=1):
            paths = [(filled(path, process, inputs), only_reads(step.text, path)) for path in step.files]
            for move in _once(self._step(step, paths, scratched)):
                yield Move(move.tool, move.subject, number, move.may_fail)
            if self._offers("mark_step"):
                yield Move("mark_step", str(number), number)

    def _step(self, step: Step, paths: Iterable[tuple[str, bool]], scratched: set[str]) -> Iterator[Move]:
        for path, reads in paths:
            yield from self._reading(path) if reads else self._file(path, scratched)
        for name in step.functions:
            yield from self.function(name)
        yield from (Move(name) for name in step.operations)
        yield from self.named(step.text)

    def _reading(self, path: str) -> Iterator[Move]:
        if ".." in path.split("/"):
            return
        function = self._function_at(path)
        found = function.path if function else path
        if found in self._files or found.startswith((SCRATCH, STATE, *_READABLE)):
            yield self.read(found)

    def _function_at(self, path: str) -> Function | None:
        """The function that a path such as functions/classify means, with or without its ending."""
        folder, _, name = path.partition("/")
        if folder != "functions":
            return None
        by_path = (each for each in self._package.functions if each.path in (path, f"{path}.md"))
        return next(by_path, None) or self._package.function(name)

    def _file(self, path: str, scratched: set[str]) -> Iterator[Move]:
        if ".." in path.split("/"):
            return
        function = self._function_at(path)
        if function is not None:
            yield from self.function(function.name)
        elif path.startswith(SCRATCH):
            yield Move("read" if path in scratched else "write", path)
            scratched.add(path)
        elif path.startswith(STATE):
            yield self.read(path)
            yield Move("write", path)
        elif path.startswith(_READABLE) or path in self._files:
            yield self.read(path)

    def read(self, path: str) -> Move:
        return Move("read", path, may_fail=path not in self._files)

    def function(self, name: str) -> Iterator[Move]:
        function = self._package.function(name)
        if function is None:
            return
        if function.session == "isolated":
            yield Move(f"function.{name}")
        else:
            yield self.read(function.path)
            yield Move("function_result", name)

    def declared(self, tools: Iterable[str]) -> Iterator[Move]:
        for name in tools:
            tool = self._package.tool(name)
            yield from (Move(f"{name}.{each.name}") for each in (tool.operations if tool else ()))

    def named(self, text: str) -> Iterator[Move]:
        """The operations in backticks: declared ones, and those that only the bound server has."""
        for name in (code.strip() for code in _CODE.findall(text)):
            if name in self._operations or (self._of_tool(name) and self._offers(name)):
                yield Move(name)

    def _of_tool(self, name: str) -> bool:
        return name.partition(".")[0] in self._package.manifest.requires_tools and "." in name


def _knowledge_path(package: Package, named: str) -> str:
    """Functions list knowledge by path, or by name."""
    by_name = {item.name: item.path for item in package.knowledge}
    return by_name.get(named) or normal_path(named) or named


def _once(moves: Iterable[Move]) -> Collection[Move]:
    found: dict[tuple[str, str], Move] = {}
    for move in moves:
        found.setdefault(move.key, move)
    return found.values()
