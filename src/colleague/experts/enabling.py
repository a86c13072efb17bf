"""Turning an expert's triggers on, after what has to be right was found to be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colleague.config import Settings
from colleague.errors import PackageError
from colleague.experts.binding_checks import binding_context, check_bindings
from colleague.experts.install import changing_expert
from colleague.experts.registry import set_enabled
from colleague.experts.workspace.workspace import Workspace, initialise_state
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.package import Package


def enable_expert(home: Home, settings: Settings, name: str, plugin_skills: Sequence[Path] = ()) -> Package:
    """Only an expert that validates, with every tool bound to something that exists, may wake by itself."""
    findings, workspace = Findings(), settings.workspace
    with changing_expert(home, workspace, name) as expert:
        package = expert.load()
        check_bindings(expert, package, binding_context(settings, home.root, name, plugin_skills), findings)
        if not findings.ok:
            first = findings.errors[0]
            hint = first.hint or f"colleague expert validate {name}"
            raise PackageError(f"{name} cannot be enabled: {first.message}", hint=hint)
        initialise_state(package, Workspace.of(workspace, name))
        set_enabled(home, name, True)
    return package


def disable_expert(home: Home, workspace: Path, name: str) -> None:
    with changing_expert(home, workspace, name):
        set_enabled(home, name, False)
