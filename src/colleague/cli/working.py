"""One small change from a command, by whoever holds the home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colleague.cli.client import Client

T = TypeVar("T")


def with_client(home: Path | None, work: Callable[[Client], Awaitable[T]]) -> T:
    from colleague.cli.hosting import opened
    from colleague.cli.interrupt import run_interruptibly

    place, settings = opened(home)

    async def go() -> T:
        from colleague.cli.client import open_client

        async with open_client(place, settings) as using:
            return await work(using)

    return run_interruptibly(go)
