"""The bootstrap files of an agent as its settings have them shown."""

from __future__ import annotations

from collections.abc import Sequence

from colleague.agent.prompt.bootstrap_budget import BootstrapBudget, ShownFile, within_budget
from colleague.agent.prompt.bootstrap_files import BOOTSTRAP, EXPERTS, bootstrap_files
from colleague.config import Settings


def shown_files(settings: Settings, names: Sequence[str] = (*BOOTSTRAP, EXPERTS)) -> list[ShownFile]:
    extra = settings.hooks.internal.extra_bootstrap_files
    defaults = settings.agents.defaults
    found = bootstrap_files(settings.workspace, extra, names=names)
    return within_budget(
        found, BootstrapBudget(defaults.bootstrap_max_chars, defaults.bootstrap_total_max_chars)
    )


def file_problems(settings: Settings) -> list[str]:
    """What a person should know of these files: unreadable, cut, left out."""
    return [each.problem for each in shown_files(settings) if each.problem]
