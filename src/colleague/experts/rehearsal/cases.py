"""`rehearsal.yaml`: what the author of a package lets a rehearsal say in the place of a model.

A case is chosen by what the run has read; the first that fits counts. What it leaves out is made from the
schemas, as without the file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from colleague.errors import ColleagueError
from colleague.experts.json_schema import SchemaDocument
from colleague.experts.rehearsal.case_text import filled_value, referred
from colleague.experts.rehearsal.known import Known
from colleague.packages.nodes import NodeError, parse, plain
from colleague.packages.package import Package
from colleague.packages.parameter import object_schema

FILE = "rehearsal.yaml"
MOST_BYTES = 1_000_000


class RehearsalError(ColleagueError):
    """The file `rehearsal.yaml` of a package cannot be used."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OperationAnswer(_Strict):
    """How an operation is called. `skip` says why it is not; `why` is the agent's reason for the call."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    why: str = ""
    skip: str = ""


class StateLine(_Strict):
    """A line for a state file, at the end of the part under a heading."""

    under: str = ""
    line: str


class RehearsalCase(_Strict):
    """One situation. `when`: texts that results must contain; `holds`: values that they must have, or one of
    a list."""

    process: str = ""
    when: dict[str, str] = Field(default_factory=dict)
    holds: dict[str, Any] = Field(default_factory=dict)
    functions: dict[str, dict[str, Any]] = Field(default_factory=dict)
    operations: dict[str, OperationAnswer] = Field(default_factory=dict)
    state: dict[str, StateLine] = Field(default_factory=dict)
    outputs: dict[str, Any] = Field(default_factory=dict)
    narrative: str = ""

    def fits(self, process: str, known: Known) -> bool:
        return (
            (not self.process or process in ("", self.process))
            and all(_contains(referred(name, known), text) for name, text in self.when.items())
            and all(_holds(value, referred(name, known)) for name, value in self.holds.items())
        )


class RehearsalFile(_Strict):
    """`results` stand in for what an operation returns where no demo server answers."""

    results: dict[str, Any] = Field(default_factory=dict)
    cases: list[RehearsalCase] = Field(default_factory=list)


@dataclass(frozen=True)
class ChosenCase:
    """A case, filled with what is known."""

    case: RehearsalCase
    known: Known = field(repr=False)

    def outputs_of(self, function: str) -> dict[str, Any]:
        return self._filled(self.case.functions.get(function, {}))

    @property
    def outputs(self) -> dict[str, Any]:
        """Of the process."""
        return self._filled(self.case.outputs)

    @property
    def narrative(self) -> str:
        return str(filled_value(self.case.narrative, self.known)).strip()

    def arguments_of(self, operation: str) -> dict[str, Any]:
        return self._filled(self._answer(operation).arguments)

    def why(self, operation: str) -> str:
        return str(filled_value(self._answer(operation).why, self.known))

    def skips(self, operation: str) -> str:
        """Why the operation is not called; empty when it is."""
        return str(filled_value(self._answer(operation).skip, self.known))

    def line_of(self, path: str) -> StateLine | None:
        found = self.case.state.get(path)
        return None if found is None else StateLine(**self._filled(found.model_dump()))

    def _answer(self, operation: str) -> OperationAnswer:
        return self.case.operations.get(operation) or OperationAnswer()

    def _filled(self, value: dict[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = filled_value(value, self.known)
        return filled


def chosen_case(package: Package, process: str, known: Known) -> ChosenCase:
    """The first case that fits; one that says nothing when none does. Raises RehearsalError."""
    for number, case in enumerate(rehearsal_file(package).cases, start=1):
        if case.fits(process, known):
            check_case(package, case, f"{FILE}: case {number}")
            return ChosenCase(case, known)
    return ChosenCase(RehearsalCase(), known)


def rehearsal_file(package: Package) -> RehearsalFile:
    """An empty one when the package has none. Raises RehearsalError."""
    if not any(entry.path == FILE for entry in package.entries):
        return RehearsalFile()
    return _read(package.root, package.digest)


@lru_cache(maxsize=16)
def _read(root: Path, _digest: str) -> RehearsalFile:
    try:
        data = (root / FILE).read_bytes()[: MOST_BYTES + 1]
        if len(data) > MOST_BYTES:
            raise RehearsalError(f"{FILE} is larger than {MOST_BYTES:,} bytes")
        return RehearsalFile.model_validate(plain(parse(data.decode(), FILE)) or {})
    except NodeError as error:
        raise RehearsalError(f"{error.at}: {error.message}", hint=error.hint) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RehearsalError(f"{FILE}: {place}: {first['msg']}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RehearsalError(f"{FILE} cannot be read: {error}") from None


def check_case(package: Package, case: RehearsalCase, where: str) -> None:
    """What a case says of functions must be what they declare. Raises RehearsalError."""
    for name, outputs in case.functions.items():
        function = package.function(name)
        if function is None:
            raise RehearsalError(f"{where}: there is no function {name!r}")
        schema = object_schema(function.outputs)["properties"]
        for output, value in outputs.items():
            if output not in schema or not SchemaDocument(schema[output]).fits(schema[output], value):
                raise RehearsalError(f"{where}: {name}: {output} is not what the function declares")
    for name in case.operations:
        if name not in package.operations:
            raise RehearsalError(f"{where}: there is no operation {name!r}")


def simulated_result(package: Package, operation: str) -> str | None:
    """What stands in for the result of an operation; None when the author wrote nothing."""
    results = rehearsal_file(package).results
    if operation not in results:
        return None
    return json.dumps(filled_value(results[operation], Known()), ensure_ascii=False)


def _holds(wanted: Any, value: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _contains(value: Any, text: str) -> bool:
    """Line breaks count as spaces, and letter case does not count."""
    return " ".join(text.split()).casefold() in " ".join(str(value or "").split()).casefold()
