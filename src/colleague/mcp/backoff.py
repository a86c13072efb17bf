"""How long to wait before a server that died or would not start is tried again."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class BackoffWaits:
    """The waits, in seconds."""

    first: float = 0.5
    cap: float = 60.0
    healthy_after: float = 30.0
    """A server that was up this long starts again from the first wait."""
    patience: float = 5.0
    """A call waits this long for the next try; if it is further away, the call ends at once."""


class Backoff:
    """Doubles the wait with each failure in a row, with jitter so that many servers do not start at once."""

    def __init__(self, pace: BackoffWaits) -> None:
        self.pace = pace
        self.failures = 0
        self._until = 0.0

    def failed(self, uptime: float) -> None:
        """A start failed (uptime 0), or the server died after `uptime` seconds."""
        self.failures = 1 if uptime >= self.pace.healthy_after else self.failures + 1
        wait = min(self.pace.cap, self.pace.first * 2.0 ** min(self.failures - 1, 30))
        self._until = time.monotonic() + wait * random.uniform(0.8, 1.2)  # noqa: S311

    def rest(self) -> None:
        """Only a person can help: the longest wait."""
        self._until = time.monotonic() + self.pace.cap

    def reset(self) -> None:
        """What stood in the way is gone: the next try is due now."""
        self.failures, self._until = 0, 0.0

    @property
    def left(self) -> float:
        """Seconds until the next try is due."""
        return max(0.0, self._until - time.monotonic())
