"""Rate limit for failed authentication: after a few failures in a minute a caller has to wait.

A right secret is never held up: who is right is found out first."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

WINDOW = 60.0
MOST_KEPT = 10_000
IPV6_NETWORK = 64


class Throttle:
    """Counts failures by key. What it remembers is bounded, whoever comes."""

    def __init__(self, most: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._monotonic = monotonic
        self._failures: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def failed(self, key: Hashable) -> int:
        """Counts a failure. The seconds that the caller should wait: 0 while there were few."""
        seconds = self.seconds_left(key)
        found = self._failures.setdefault(key, deque(maxlen=self._most))
        found.append(self._monotonic())
        self._failures.move_to_end(key)
        while len(self._failures) > MOST_KEPT:
            self._failures.popitem(last=False)
        return seconds

    def seconds_left(self, key: Hashable) -> int:
        """How long there were too many failures of a key; 0 when there were few."""
        found = self._failures.get(key)
        if found is None:
            return 0
        now = self._monotonic()
        while found and now - found[0] >= WINDOW:
            found.popleft()
        return math.ceil(found[0] + WINDOW - now) if len(found) >= self._most else 0


def network_of(address: str) -> str:
    """What failures are counted by: an IPv6 customer has a whole /64, so that counts as one caller."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    return str(ipaddress.ip_network((found, IPV6_NETWORK), strict=False))
