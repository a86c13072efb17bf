"""What was found out about an expert, kept until a file of it or the settings change."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from colleague.experts.expert import find_expert
from colleague.file_cache import is_settled
from colleague.home import Home
from colleague.triggers.registry import Stamps, expert_stamps

log = logging.getLogger(__name__)

T = TypeVar("T")

KEPT_SECONDS = 60.0
"""Afterwards it is found out again beside the answer: skills and state files may be others, too."""


@dataclass(frozen=True)
class _KeptFinding(Generic[T]):
    """One answer, and what it was true of."""

    stamps: Stamps
    settings: Any
    value: T
    at: float


@dataclass
class ExpertCache(Generic[T]):
    """Answers by the name of an expert. What `find` raises is raised, and not kept."""

    _kept: dict[str, _KeptFinding[T]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def get(self, home: Home, name: str, settings: Any, find: Callable[[], Awaitable[T]]) -> T:
        """Raises NotFound when there is no such expert."""
        stamps = await asyncio.to_thread(lambda: expert_stamps(home, find_expert(home, name)))
        kept = self._kept.get(name)
        if kept is None or kept.stamps != stamps or kept.settings is not settings:
            return await self._find(name, stamps, settings, find)
        if time.monotonic() - kept.at > KEPT_SECONDS:
            self._kept[name] = _KeptFinding(stamps, settings, kept.value, time.monotonic())
            task = asyncio.create_task(self._find_again(name, stamps, settings, find))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return kept.value

    async def _find(self, name: str, stamps: Stamps, settings: Any, find: Callable[[], Awaitable[T]]) -> T:
        value = await find()
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
