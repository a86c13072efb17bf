"""One writer at a time for a file, among threads and processes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from colleague.errors import ColleagueError, HomeBusy
from colleague.files import locked

_PAUSE = 0.005


class FileBusy(ColleagueError):
    """Another writer holds a file for too long."""


@contextlib.asynccontextmanager
async def file_lock(folder: Path, file: Path, *, wait_seconds: float = 30.0) -> AsyncIterator[None]:
    """Holds the lock of `file`, which is one of 256 in `folder`: files that share one merely wait."""
    lock = folder / f"file-{hashlib.sha256(str(file).encode()).hexdigest()[:2]}.lock"
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    with contextlib.ExitStack() as held:
        while True:
            try:
                held.enter_context(locked(lock, wait_seconds=-1))
                break
            except HomeBusy:
                if loop.time() > deadline:
                    raise FileBusy(
                        f"{file.name} is being written by someone else. Try again later."
                    ) from None
                await asyncio.sleep(_PAUSE)
        yield
