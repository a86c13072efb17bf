"""Slowing down whoever guesses: a few failed tries a minute, then none for a while."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

WINDOW = 60.0
MOST_KEPT = 10_000


class Throttle:
    """Counts failures by key. What it remembers is bounded, whoever comes."""

    def __init__(self, most: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._monotonic = monotonic
        self._failures: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def seconds_left(self, key: Hashable) -> int:
        """How long a key has to wait; 0 when it may try."""
        found = self._failures.get(key)
        if found is None:
            return 0
        now = self._monotonic()
        while found and now - found[0] >= WINDOW:
            found.popleft()
        return math.ceil(found[0] + WINDOW - now) if len(found) >= self._most else 0

    def failed(self, key: Hashable) -> None:
        found = self._failures.setdefault(key, deque(maxlen=self._most))
        found.append(self._monotonic())
        self._failures.move_to_end(key)
        while len(self._failures) > MOST_KEPT:
            self._failures.popitem(last=False)
