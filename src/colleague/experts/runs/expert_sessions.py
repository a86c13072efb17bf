"""Messages to experts: a task of its own each, or a turn of a session that lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from colleague.config import Settings
from colleague.experts.bindings import Bindings
from colleague.experts.expert import find_expert, listed_experts
from colleague.experts.runs.invoke import Invocation
from colleague.experts.runs.preflight import Preflight, valid_bindings
from colleague.home import Home
from colleague.session_key import SessionKey
from colleague.store.ids import new_id
from colleague.store.inbox import IncomingMessage
from colleague.store.run import Run
from colleague.store.session_items import NewItem

TASK = "task"
"""In the place of a process, in the key of a session that one task has for itself."""


CHAT_CHANNELS = ("openai",)
"""In the place of a process, too: a person's own conversation with an expert."""


def is_persistent(bindings: Bindings) -> bool:
    return bindings.session == "persistent"


def remembers(bindings: Bindings, run: Run) -> bool:
    """Whether a run of an expert knows what was said before it in its session."""
    if run.transcript is None:
        return False
    return is_persistent(bindings) or SessionKey.parse(run.session_key).process in CHAT_CHANNELS


@dataclass(frozen=True)
class ExpertMessages:
    """Makes what is stored for a message to an expert."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]

    def task(
        self, expert: str, agent_id: str, text: str, *, source: str, delegated: bool, model: str = ""
    ) -> IncomingMessage:
        """Raises ColleagueError when there is no such expert, or its run would fail at once."""
        said = self._task_message(expert, agent_id, text, source, model)
        lasting = not delegated or is_persistent(valid_bindings(find_expert(self.home, expert).bindings_file))
        key = (
            SessionKey.for_expert(expert, agent=agent_id)
            if lasting
            else SessionKey.for_process(expert, TASK, new_id()[-12:], agent=agent_id)
        )
        return _in_session(said, key)

    def message(self, key: SessionKey, text: str, *, source: str, model: str = "") -> IncomingMessage:
        """A task in a session of the expert that is there to be talked to. Raises as `task` does."""
        return _in_session(self._task_message(str(key.expert), key.agent_id, text, source, model), key)

    def _task_message(
        self, expert: str, agent_id: str, text: str, source: str, model: str
    ) -> IncomingMessage:
        found = find_expert(self.home, expert)
        package = found.load()
        Preflight(self.home, self.settings, self.environ).check_expert(
            found, package, None, model, dry_run=False
        )
        arrival = Invocation(self.home, found, package, model).task(text, source=source)
        return IncomingMessage(arrival, agent_id, NewItem("user", text, source=source))

    def names(self) -> list[str]:
        return [each.name for each in listed_experts(self.home)]


def _in_session(said: IncomingMessage, key: SessionKey) -> IncomingMessage:
    return replace(said, arrival=replace(said.arrival, session_key=str(key), lane=str(key)))
