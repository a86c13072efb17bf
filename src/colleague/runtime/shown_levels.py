"""How much people are told of what an agent thinks and does in a session."""

from __future__ import annotations

import contextlib
from typing import cast

from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.run_document import LevelsDocument, ReasoningMode, VerboseLevel
from colleague.session_key import SessionKey
from colleague.store.session_entry import SessionEntry


def levels_of(settings: Settings, session_key: str, entry: SessionEntry | None) -> LevelsDocument:
    """As the session has it, else the settings of its agent."""
    with contextlib.suppress(ColleagueError):  # the agent may be gone from the settings
        settings = settings.for_agent(SessionKey.parse(session_key).agent_id)
    defaults = settings.agents.defaults
    reasoning = entry.reasoning_level if entry else None
    verbose = entry.verbose_level if entry else None
    return {
        "reasoning": cast("ReasoningMode", reasoning or defaults.reasoning_default),
        "verbose": cast("VerboseLevel", verbose or defaults.verbose_default),
    }
