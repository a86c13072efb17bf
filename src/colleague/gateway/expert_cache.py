"""What was found out about an expert, kept until a file of it or the settings change."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from colleague.errors import ColleagueError
from colleague.experts.expert import find_expert
from colleague.file_cache import is_settled
from colleague.home import Home
from colleague.triggers.registry import Stamps, expert_stamps

log = logging.getLogger(__name__)

T = TypeVar("T")

KEPT_SECONDS = 60.0
"""Afterwards it is found out again beside the answer: skills and state files may be others, too."""
MOMENT = 0.5
"""How long a list waits for what has to be found out first."""


@dataclass(frozen=True)
class _KeptFinding(Generic[T]):
    """One answer, and what it was true of."""

    stamps: Stamps
    settings: Any
    value: T | ColleagueError
    at: float


@dataclass
class ExpertCache(Generic[T]):
    """Answers by the name of an expert. A ColleagueError of `find` is an answer, too, and raised."""

    watchers: list[Callable[[str], None]] = field(default_factory=list)
    """Called with the name of an expert when an answer is there that somebody did not wait for."""
    _kept: dict[str, _KeptFinding[T]] = field(default_factory=dict)
    _looking: dict[tuple[str, Stamps], asyncio.Task[T | ColleagueError]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def get(self, home: Home, name: str, settings: Any, find: Callable[[], Awaitable[T]]) -> T:
        """Raises NotFound when there is no such expert."""
        stamps = await _stamps(home, name)
        kept = self._valid(name, stamps, settings, find)
        return _answer(kept.value if kept else await self._find(name, stamps, settings, find))

    async def get_soon(
        self, home: Home, name: str, settings: Any, find: Callable[[], Awaitable[T]]
    ) -> T | None:
        """As `get`, but None when it takes longer than a moment to find out; watchers are told then."""
        stamps = await _stamps(home, name)
        if kept := self._valid(name, stamps, settings, find):
            return _answer(kept.value)
        task = self._look(name, stamps, settings, find)
        done, _ = await asyncio.wait({task}, timeout=MOMENT)
        if done:
            return _answer(task.result())
        task.add_done_callback(lambda ended: self._tell(name, ended))
        return None

    def _valid(
        self, name: str, stamps: Stamps, settings: Any, find: Callable[[], Awaitable[T]]
    ) -> _KeptFinding[T] | None:
        kept = self._kept.get(name)
        if kept is None or kept.stamps != stamps or kept.settings is not settings:
            return None
        if time.monotonic() - kept.at > KEPT_SECONDS:
            self._kept[name] = _KeptFinding(stamps, settings, kept.value, time.monotonic())
            task = asyncio.create_task(self._find_again(name, stamps, settings, find))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return kept

    def _look(
        self, name: str, stamps: Stamps, settings: Any, find: Callable[[], Awaitable[T]]
    ) -> asyncio.Task[T | ColleagueError]:
        """Once, however many pages load again while it is under way."""
        key = name, stamps
        if key not in self._looking:
            self._looking[key] = asyncio.create_task(self._find(name, stamps, settings, find))
            self._looking[key].add_done_callback(lambda _: self._looking.pop(key))
        return self._looking[key]

    def _tell(self, name: str, ended: asyncio.Task[Any]) -> None:
        if ended.cancelled() or ended.exception():
            log.info("%s could not be looked at", name)
            return
        for watcher in list(self.watchers):
            watcher(name)

    async def _find(
        self, name: str, stamps: Stamps, settings: Any, find: Callable[[], Awaitable[T]]
    ) -> T | ColleagueError:
        value: T | ColleagueError
        try:
            value = await find()
        except ColleagueError as error:
            value = error
        if all(is_settled(stamp) for _, stamp in stamps):
            self._kept[name] = _KeptFinding(stamps, settings, value, time.monotonic())
        return value

    async def _find_again(
        self, name: str, stamps: Stamps, settings: Any, find: Callable[[], Awaitable[T]]
    ) -> None:
        try:
            await self._find(name, stamps, settings, find)
        except Exception:
            self._kept.pop(name, None)  # whoever asks next is told
            log.info("%s could not be looked at again", name, exc_info=True)


async def _stamps(home: Home, name: str) -> Stamps:
    return await asyncio.to_thread(lambda: expert_stamps(home, find_expert(home, name)))


def _answer(value: T | ColleagueError) -> T:
    if isinstance(value, ColleagueError):
        raise value.with_traceback(None)  # kept, it would grow by one place with each time it is raised
    return value
