"""The case of `rehearsal.yaml` that counts for a run.

A case is chosen by what the run has read; the first that fits counts. What it leaves out is made from the
schemas, as without the file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from colleague.errors import ColleagueError
from colleague.experts.rehearsal.case_text import filled_value, referred
from colleague.experts.rehearsal.file_checks import check_rehearsal_file
from colleague.experts.rehearsal.known import Known
from colleague.experts.rehearsal.rehearsal_file import (
    FILE,
    NO_FILE,
    OperationAnswer,
    RehearsalCase,
    RehearsalFile,
    StateLine,
    has_rehearsal_file,
    read_rehearsal_file,
)
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.package import Package


class RehearsalError(ColleagueError):
    """The file `rehearsal.yaml` of a package cannot be used."""


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
        return None if found is None else StateLine(**self._filled(asdict(found)))

    def _answer(self, operation: str) -> OperationAnswer:
        return self.case.operations.get(operation) or OperationAnswer()

    def _filled(self, value: dict[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = filled_value(value, self.known)
        return filled


def chosen_case(package: Package, process: str, known: Known) -> ChosenCase:
    """The first case that fits; one that says nothing when none does. Raises RehearsalError."""
    fitting = (case for case in rehearsal_file(package).cases if _case_fits(case, process, known))
    return ChosenCase(next(fitting, RehearsalCase(at=Mark(FILE))), known)


def rehearsal_file(package: Package) -> RehearsalFile:
    """An empty one when the package has none. Raises RehearsalError."""
    if not has_rehearsal_file(package):
        return NO_FILE
    file, read = _read(package.root, package.digest)
    checked = Findings()
    check_rehearsal_file(file, package, checked)
    for error in (*read.errors, *checked.errors):
        raise RehearsalError(str(error), hint=error.hint)
    return file


@lru_cache(maxsize=16)
def _read(root: Path, _digest: str) -> tuple[RehearsalFile, Findings]:
    findings = Findings()
    return read_rehearsal_file(PackageFolder(root, findings)), findings


def simulated_result(package: Package, operation: str) -> str | None:
    """What stands in for the result of an operation; None when the author wrote nothing."""
    results = rehearsal_file(package).results
    if operation not in results:
        return None
    return json.dumps(filled_value(results[operation], Known()), ensure_ascii=False)


def _case_fits(case: RehearsalCase, process: str, known: Known) -> bool:
    return (
        (not case.process or process in ("", case.process))
        and all(_contains(referred(name, known), text) for name, text in case.when.items())
        and all(_holds(value, referred(name, known)) for name, value in case.holds.items())
    )


def _holds(wanted: Any, value: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _contains(value: Any, text: str) -> bool:
    """Line breaks count as spaces, and letter case does not count."""
    return " ".join(text.split()).casefold() in " ".join(str(value or "").split()).casefold()
