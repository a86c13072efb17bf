"""What is wrong before a run exists: it refuses the command, and no run is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.agent.models.resolve import resolve_routes
from colleague.config import Settings
from colleague.errors import ColleagueError, PackageError
from colleague.experts.runs.required_tools import needed_tools, required_binding
from colleague.home import Home

if TYPE_CHECKING:
    from colleague.experts.bindings import Bindings
    from colleague.experts.expert import Expert
    from colleague.packages.package import Package
    from colleague.packages.process import Process


class CannotStart(ColleagueError):
    """A run would fail for a reason that is known already."""


def valid_bindings(file: Path) -> Bindings:
    """The bindings of an expert. Raises PackageError with the first that is wrong."""
    from colleague.experts.bindings import read_bindings
    from colleague.packages.finding import Findings

    findings = Findings()
    bindings = read_bindings(file, findings)
    if findings.errors:
        raise PackageError(f"{file}: {findings.errors[0]}", hint="mend it, then try again")
    return bindings


@dataclass(frozen=True)
class Preflight:
    """Checks what people ask for. Events from outside are accepted anyway: their sender cannot mend it."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]

    def check_model(self, name: str) -> None:
        """Raises CannotStart when there is no such model, or no key for it."""
        try:
            resolve_routes(self.settings, self.environ, name, folder=self.home.root)
        except ColleagueError as error:
            raise CannotStart(error.message, hint=error.hint) from None

    def check_own_runs(self, expert: str) -> None:
        """Of an expert that wakes by itself. Raises CannotStart when its runs would have no model."""
        from colleague.experts.runs.inputs import REHEARSAL
        from colleague.experts.runs.model_name import bound_model

        if (name := bound_model(self.home, expert)) != REHEARSAL:
            self.check_model(name)

    def check_expert(
        self, expert: Expert, package: Package, process: Process | None, model: str, *, dry_run: bool
    ) -> None:
        """Raises CannotStart, ToolUnavailable or PackageError."""
        from colleague.experts.runs.inputs import REHEARSAL

        bindings = valid_bindings(expert.bindings_file)
        tools, name = needed_tools(package, process), model or bindings.model
        if name != REHEARSAL:
            self.check_model(name)
            for tool in tools:
                required_binding(self.settings, expert.name, tool, bindings)
        elif not dry_run:
            self._require_demos(expert.name, tools, bindings)

    def _require_demos(self, expert: str, tools: list[str], bindings: Bindings) -> None:
        """A rehearsal really calls what it names, so it may only reach servers that are there to be tried."""
        from colleague.experts.runs.bound_tools import require_demo

        for tool in tools:
            require_demo(self.settings, expert, tool, bindings)
