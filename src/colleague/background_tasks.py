"""Long-lived tasks of a process: one that dies is started again, counted, and shown while it keeps dying."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
HEALTHY_AFTER = 30.0
"""Seconds of work after which an earlier failure no longer counts."""
FAILING_AFTER = 3
"""Failures in a row after which a task counts as failing."""
STOP_SECONDS = 10.0


@dataclass
class _Watched:
    """One task, and how it went so far."""

    task: asyncio.Task[None]
    restarts: int = 0
    in_a_row: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def is_failing(self) -> bool:
        """It is dead, or died several times in a row and has not worked for a while since."""
        recovered = time.monotonic() - self.began >= HEALTHY_AFTER
        return self.task.done() or (self.in_a_row >= FAILING_AFTER and not recovered)


class BackgroundTasks:
    """Tasks by name. Work that returns has ended on purpose; work that raises is started again.

    An error that `passes` is no fault of the task, and somebody else tells of it: it is not counted."""

    def __init__(
        self,
        *,
        first_pause: float = FIRST_PAUSE,
        passes: Callable[[BaseException], bool] = lambda _: False,
    ) -> None:
        self._first_pause, self._passes = first_pause, passes
        self._watched: dict[str, _Watched] = {}
        self._ended: set[str] = set()

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Runs `work` beside the caller until it returns or the task is cancelled."""
        task = asyncio.create_task(self._keep_running(name, work), name=f"background {name}")
        self._watched[name] = _Watched(task)
        self._ended.discard(name)
        return task

    async def stop(self, *names: str) -> None:
        """Cancels these tasks, or all. One that does not end in time is left behind with a log line."""
        tasks = [self._watched[name].task for name in names or tuple(self._watched)]
        self._ended.update(names or self._watched)
        for task in tasks:
            task.cancel()
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for each in left:
                log.error("%s did not end within %g s and is left behind", each.get_name(), STOP_SECONDS)

    @property
    def restarts(self) -> dict[str, int]:
        """How often each task was started again, without those that never were."""
        return {name: each.restarts for name, each in self._watched.items() if each.restarts}

    @property
    def failing(self) -> list[str]:
        """The names of tasks that are dead or keep dying."""
        return sorted(
            name for name, each in self._watched.items() if name not in self._ended and each.is_failing
        )

    async def _keep_running(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except asyncio.CancelledError:
                # A library may raise this by itself; only a cancel of this very task ends it.
                if _is_cancelled():
                    raise
                log.error("the %s was cancelled from inside and is started again", name)
            except Exception as error:
                if self._passes(error):
                    await asyncio.sleep(self._first_pause)
                    continue
                log.exception("the %s failed and is started again: %s: %s", name, type(error).__name__, error)
            else:
                self._ended.add(name)
                return
            await asyncio.sleep(self._failed(name))
            self._watched[name].began = time.monotonic()

    def _failed(self, name: str) -> float:
        """Counts a failure; the seconds to pause after it."""
        watched = self._watched[name]
        healthy = time.monotonic() - watched.began >= HEALTHY_AFTER
        watched.restarts += 1
        watched.in_a_row = 1 if healthy else watched.in_a_row + 1
        return float(min(LONGEST_PAUSE, self._first_pause * 2 ** min(watched.in_a_row - 1, 10)))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
