"""What the session tools need of experts, which a higher room gives."""

from __future__ import annotations

from typing import Protocol

from colleague.store.inbox import IncomingMessage


class ExpertSessions(Protocol):
    """Messages to experts."""

    def task(self, expert: str, agent_id: str, text: str, *, source: str, delegated: bool) -> IncomingMessage:
        """What is stored for a task: in the expert's lasting session, or in one of its own when it is
        delegated and the expert keeps none. Blocks. Raises ColleagueError when it cannot be run."""
        ...

    def names(self) -> list[str]: ...
