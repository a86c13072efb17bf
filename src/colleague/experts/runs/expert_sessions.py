"""Messages to experts: a task of its own each, or a turn of a session that lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from colleague.config import Settings
from colleague.experts.bindings import Bindings
from colleague.experts.expert import find_expert, usable_experts
from colleague.experts.runs.invoke import Invocation
from colleague.experts.runs.preflight import Preflight, valid_bindings
from colleague.home import Home
from colleague.session_key import SessionKey
from colleague.store.ids import new_id
from colleague.store.inbox import Said
from colleague.store.session_items import NewItem

TASK = "task"
"""In the place of a process, in the key of a session that one task has for itself."""


def is_persistent(bindings: Bindings) -> bool:
    return bindings.session == "persistent"


@dataclass(frozen=True)
class ExpertMessages:
    """Makes what is stored for a message to an expert."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]

    def task(
        self, expert: str, agent_id: str, text: str, *, source: str, delegated: bool, model: str = ""
    ) -> Said:
        """Raises ColleagueError when there is no such expert, or its run would fail at once."""
        found = find_expert(self.home, expert)
        package = found.load()
        Preflight(self.home, self.settings, self.environ).check_expert(
            found, package, None, model, dry_run=False
        )
        lasting = not delegated or is_persistent(valid_bindings(found.bindings_file))
        key = (
            SessionKey.for_expert(expert, agent=agent_id)
            if lasting
            else SessionKey.for_process(expert, TASK, new_id()[-12:], agent=agent_id)
        )
        arrival = Invocation(self.home, found, package, model).task(text, source=source)
        arrival = replace(arrival, session_key=str(key), lane=str(key))
        return Said(arrival, agent_id, NewItem("user", text, source=source))

    def names(self) -> list[str]:
        return [each.name for each in usable_experts(self.home)]
