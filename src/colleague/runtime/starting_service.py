"""The service of a command that works by itself: what begins with storing something needs few imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.runtime.local_messages import LocalMessages
from colleague.runtime.local_runs import LocalRuns

if TYPE_CHECKING:
    from colleague.runtime.local_service import LocalService


class StartingService(LocalMessages, LocalRuns):
    """The part of a LocalService that begins runs and follows them.

    A run is so stored and named in a fraction of the time that importing everything takes."""

    def whole(self) -> LocalService:
        from colleague.runtime.local_service import LocalService

        return LocalService(**vars(self))
