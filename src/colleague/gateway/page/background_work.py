"""Work that takes longer than a person waits for a page: begun, looked at again, shown when it is done."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from colleague.errors import ColleagueError, NotFound

KEPT_SECONDS = 3600.0
MOST_AT_ONCE = 8
SHORTLY = 2.0
"""How long the answer to a form waits for work that may be done soon."""

Begin = Callable[[Callable[[str], None]], Awaitable[Any]]


@dataclass
class BackgroundWork:
    """One piece of work. `kind` says how its result is shown; `about` is what the person asked for."""

    id: str
    person: str
    kind: str
    title: str
    about: dict[str, Any]
    state: str = ""
    result: Any = None
    error: ColleagueError | None = None
    task: asyncio.Task[None] | None = None
    ended_at: float | None = None

    @property
    def done(self) -> bool:
        return self.ended_at is not None


@dataclass
class BackgroundWorks:
    """What this process is at for people at the page. A restart forgets it; what was done stays done."""

    _known: dict[str, BackgroundWork] = field(default_factory=dict)

    async def begin(
        self, person: str, kind: str, title: str, about: dict[str, Any], begin: Begin
    ) -> BackgroundWork:
        """Begins the work and waits a moment for it. Raises ColleagueError when too much is under way."""
        self._forget_old()
        if sum(not each.done for each in self._known.values()) >= MOST_AT_ONCE:
            raise ColleagueError("too much is under way at once", hint="wait until something of it is done")
        work = BackgroundWork(secrets.token_urlsafe(12), person, kind, title, about)
        self._known[work.id] = work
        work.task = asyncio.create_task(self._do(work, begin))
        await asyncio.wait({work.task}, timeout=SHORTLY)
        return work

    def find(self, identifier: str, person: str) -> BackgroundWork:
        """Raises NotFound: work is seen only by whoever began it."""
        found = self._known.get(identifier)
        if found is None or found.person != person:
            raise NotFound("this is not under way any more", hint="what it changed is where it belongs")
        return found

    async def _do(self, work: BackgroundWork, begin: Begin) -> None:
        def tell(state: str) -> None:
            work.state = state

        try:
            work.result = await begin(tell)
        except ColleagueError as error:
            work.error = error
        except Exception:
            work.error = ColleagueError("it failed", hint="the log of the gateway says why")
            raise
        finally:
            work.ended_at = time.monotonic()

    def _forget_old(self) -> None:
        before = time.monotonic() - KEPT_SECONDS
        old = [key for key, each in self._known.items() if each.ended_at and each.ended_at < before]
        for key in old:
            del self._known[key]
