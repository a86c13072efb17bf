"""Checking signatures: how much of the machine strangers can take with large bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

SMALL_BYTES = 65_536
"""Hashed at once: that takes less time than the way to a thread and back."""
AT_ONCE = 2


@dataclass(frozen=True)
class SignatureChecks:
    """Large bodies are hashed in a thread, few at a time. Callers who fail often share one place, and wait
    for each other; they delay nobody else."""

    _others: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _failing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    async def run(self, check: Callable[[], T], *, size: int, failing: bool) -> T:
        if size <= SMALL_BYTES:
            return check()
        return await self.in_thread(check, failing=failing)

    async def in_thread(self, check: Callable[[], T], *, failing: bool) -> T:
        async with self._failing if failing else self._others:
            return await asyncio.to_thread(check)
