"""The one source of time. Only leases use another."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

log = logging.getLogger(__name__)

STEP_MS = 60_000
"""A change of the clock by no more than this is followed at once: time servers make such steps."""
DOUBT_MS = 600_000
"""A clock that was moved by more than a step is believed after so long without another move."""

LAST_MOMENT = 253_402_300_799_000

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """Milliseconds since 1970, as everything is stored."""

    def now(self) -> int:
        """The time that decisions go by."""
        ...

    def wall(self) -> int:
        """What the machine's clock shows, right or wrong; to compare with the clocks of others."""
        ...


def iso(moment: int | None, precision: str = "seconds") -> str | None:
    """A moment as people write it; what lies beyond the calendar is its last one."""
    if moment is None:
        return None
    return datetime.fromtimestamp(min(moment, LAST_MOMENT) / 1000, UTC).isoformat(timespec=precision)


def boot_time_ms() -> int:
    """Since the machine was started, time in suspension included. Nobody can move it."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000


def wall_time_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class ClockDoubt:
    """The machine's clock was moved; `offset` is what it shows less the time since the boot."""

    offset: int
    since_boot: int


@dataclass(frozen=True)
class ClockRecord:
    """What a process knew of the clock. The next one compares with it, within the same boot."""

    boot_id: str
    offset: int
    doubt: ClockDoubt | None = None


class CheckedClock:
    """The machine's time, checked against the time since its boot, which nobody can move.

    A jump that no passing of time explains is not believed at once: time goes on from where it was. If the
    clock is back within `DOUBT_MS`, nothing ever happened. If it stays, it counts from then on."""

    def __init__(
        self,
        wall: Callable[[], int] = wall_time_ms,
        boot: Callable[[], int] = boot_time_ms,
        boot_id: str | None = None,
    ) -> None:
        self._wall, self._boot = wall, boot
        self._boot_id = _this_boot() if boot_id is None else boot_id
        self._lock = threading.Lock()
        self._offset = wall() - boot()
        self._doubt: ClockDoubt | None = None

    def wall(self) -> int:
        return self._wall()

    def now(self) -> int:
        with self._lock:
            wall, boot = self._wall(), self._boot()
            self._look(wall - boot, boot)
            return boot + self._offset

    def doubt(self) -> str:
        """What is wrong with the machine's clock, as a sentence; empty when it is believed."""
        self.now()
        doubt = self._doubt
        if doubt is None:
            return ""
        left = max(0, DOUBT_MS - (self._boot() - doubt.since_boot)) // 1000
        return f"{_moved(doubt.offset - self._offset)}; the time before that counts for another {left} s"

    def witness(self) -> ClockRecord:
        self.now()
        with self._lock:
            return ClockRecord(self._boot_id, self._offset, self._doubt)

    def recall(self, witness: ClockRecord) -> None:
        """Goes by what an earlier process knew, when the machine was not started anew since."""
        if witness.boot_id and witness.boot_id == self._boot_id:
            with self._lock:
                known = self._doubt if _same(witness.offset, self._offset) else None
                self._offset, self._doubt = witness.offset, witness.doubt or known

    def _look(self, offset: int, boot: int) -> None:
        if _same(offset, self._offset):
            if self._doubt is not None:
                log.warning("the clock of this machine is back, nothing went by the wrong time")
            self._offset, self._doubt = offset, None
        elif self._doubt is None or not _same(offset, self._doubt.offset):
            self._doubt = ClockDoubt(offset, boot)
            moved = _moved(offset - self._offset)
            log.warning("%s; it is believed after %d s without another move", moved, DOUBT_MS // 1000)
        elif boot - self._doubt.since_boot >= DOUBT_MS:
            log.warning("%s and stayed: it counts from now on", _moved(offset - self._offset))
            self._offset, self._doubt = offset, None


@functools.cache
def machine_clock() -> CheckedClock:
    """The one of this process: whoever asks, a jump is seen once and judged once."""
    return CheckedClock()


class SystemClock:
    """The machine's own time, checked."""

    def now(self) -> int:
        return machine_clock().now()

    def wall(self) -> int:
        return machine_clock().wall()


class MovableClock:
    """A clock that stands still until it is moved; for rehearsals and tests."""

    def __init__(self, start: int = 1_767_225_600_000) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def wall(self) -> int:
        return self._now

    def move(self, *, seconds: float = 0, days: float = 0) -> None:
        self._now += int((seconds + days * 86_400) * 1000)


def _same(one: int, other: int) -> bool:
    return abs(one - other) <= STEP_MS


def _moved(by_ms: int) -> str:
    seconds = abs(by_ms) // 1000
    amount = f"{seconds / 86_400:.1f} days" if seconds >= 86_400 else f"{seconds // 60} minutes"
    return f"the clock of this machine was moved {amount} {'ahead' if by_ms > 0 else 'back'}"


def _this_boot() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
