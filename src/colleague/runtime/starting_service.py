"""The service of a command that works by itself: what begins with storing something needs few imports."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from colleague.runtime.local_messages import LocalMessages
from colleague.runtime.local_runs import LocalRuns

if TYPE_CHECKING:
    from colleague.runtime.local_service import LocalService


@dataclass(frozen=True)
class StartingService(LocalMessages, LocalRuns):
    """A LocalService of which only messages and runs are imported; the rest is when it is asked for.

    The run of a message is so stored and named in a fraction of the time that importing everything takes."""

    @property
    def whole(self) -> LocalService:
        """Itself: it does all that a LocalService does."""
        return cast("LocalService", self)

    def __getattr__(self, name: str) -> Any:
        """What the classes above do not have."""
        if name.startswith("_"):
            raise AttributeError(name)
        from colleague.runtime.local_service import LocalService

        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return getattr(LocalService(**given), name)
