"""The triggers of a home for a server: looked up without touching a file, read again beside the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from colleague.errors import ColleagueError
from colleague.triggers.registry import TriggerRegistry

log = logging.getLogger(__name__)

HOME = "experts"


@dataclass
class LiveTriggerRegistry(TriggerRegistry):
    """A registry whose lookups never read; `renew` does, in a thread, and changes everything at once."""

    watchers: list[Callable[[str], None]] = field(default_factory=list)
    """Called with the name of an expert whose files are others now."""

    async def renew(self) -> None:
        """Takes in what has changed. What cannot be read keeps what it had, and is among the problems."""
        spare = TriggerRegistry(
            self.home,
            self.monotonic,
            dict(self._bound_triggers),
            dict(self._stamps),
            dict(self._problems),
            dict(self._unreadable),
        )
        problems = dict(self._problems)
        before = self._stamps
        try:
            await asyncio.to_thread(spare.all)
        except (ColleagueError, OSError) as error:
            problems = {HOME: getattr(error, "message", str(error))}
        else:
            self._bound_triggers, self._stamps, self._unreadable, problems = (
                spare._bound_triggers,
                spare._stamps,
                spare._unreadable,
                spare._problems,
            )
        for name in problems.keys() - self._problems.keys():
            log.warning("%s cannot be read, so its triggers stay as they were: %s", name, problems[name])
        self._problems = problems
        for name in {name for name, _ in before.items() ^ self._stamps.items()}:
            self._tell(name)

    def _tell(self, name: str) -> None:
        for watcher in list(self.watchers):
            watcher(name)

    async def run(self, every: float = 2.0) -> None:
        while True:
            await asyncio.sleep(every)
            await self.renew()

    def _refresh(self) -> None:
        """Nothing: `renew` has done it."""
