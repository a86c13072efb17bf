"""What a run thinks with, by name, before it has begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from colleague.agent.models.resolve import default_model, full_name
from colleague.errors import ColleagueError

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.run_document import RunHeading


def model_name(home: Home, settings: Settings, environ: Mapping[str, str], run: RunHeading) -> str:
    """As provider/model; empty when none is configured, or its expert is gone."""
    try:
        named = run["model"] or (bound_model(home, run["expert"]) if run["kind"] == "expert" else "")
        return full_name(settings, named or default_model(settings, environ))
    except (ColleagueError, OSError):
        return ""


def bound_model(home: Home, expert: str) -> str:
    """What its bindings name; empty when they name none."""
    from colleague.experts.bindings import read_bindings
    from colleague.packages.finding import Findings
    from colleague.packages.names import BINDINGS

    return read_bindings(home.expert(expert) / BINDINGS, Findings()).model or ""
