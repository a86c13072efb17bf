"""Noticing that a model says nothing, while it is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

OnSilence = Callable[[float], None]
"""Is given the seconds since the last word."""


def silences() -> Iterator[float]:
    """After how many seconds of silence something is said: soon, then each minute."""
    yield 10
    yield 30
    minutes = 0
    while True:
        minutes += 1
        yield 60 * minutes


class SilenceWatch:
    """Calls `on_silence` while a block lasts in which nothing is heard. Costs one timer."""

    def __init__(self, on_silence: OnSilence | None, after: Callable[[], Iterator[float]] = silences) -> None:
        self._on_silence = on_silence
        self._after = after
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self.heard()
        if self._on_silence is not None:
            self._look_in(self._due)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def heard(self) -> None:
        """A part of the answer came; the next silence begins now."""
        self._since = asyncio.get_running_loop().time()
        self._silences = self._after()
        self._due = next(self._silences)
        if self._timer is not None and self._timer.when() > self._since + self._due:
            self._timer.cancel()  # set while it was silent for long
            self._look_in(self._due)

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        silent = asyncio.get_running_loop().time() - self._since
        if silent >= self._due and self._on_silence is not None:
            said, self._due = self._due, next(self._silences)
            self._on_silence(said)
        self._look_in(max(0.01, self._due - silent))
