"""What a running gateway says: its variables count, not those of the shell in which a person types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.runtime.remote_service import RemoteService

T = TypeVar("T")


async def gateway_answer(home: Home, ask: Callable[[RemoteService], Awaitable[T]]) -> T | None:
    """None without a gateway, or when it does not answer us."""
    from colleague.errors import ColleagueError, DatabaseUnavailable
    from colleague.runtime.gateway_file import gateway_runs
    from colleague.runtime.remote_service import RemoteService

    if not gateway_runs(home):
        return None
    try:
        return await ask(RemoteService(home))
    except (ColleagueError, DatabaseUnavailable):
        return None
