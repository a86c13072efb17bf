"""state/clock.json: what the last process knew of the machine's clock, for the next one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

from colleague.clock import CheckedClock, Clock, ClockDoubt, ClockRecord, machine_clock
from colleague.files import write_atomic
from colleague.home import Home

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
SMALL_CHANGE_MS = 1000


def home_clock(home: Home) -> CheckedClock:
    """The machine's clock, judged by what earlier processes of this home knew of it."""
    clock = machine_clock()
    _recall(home, clock)
    return clock


@asynccontextmanager
async def remembered(home: Home, clock: Clock) -> AsyncIterator[None]:
    """Keeps what is known of a checked clock in its file for as long as the block lasts."""
    if not isinstance(clock, CheckedClock):
        yield
        return
    _recall(home, clock)
    keeping = asyncio.create_task(_keep(home, clock))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        _save(home, clock)


def read_witness(home: Home) -> ClockRecord | None:
    """None when there is none that can be used; the machine's clock then counts as it is."""
    try:
        document = json.loads(home.clock_file.read_text(encoding="utf-8"))
        doubt = document["doubt"]
        known = ClockDoubt(int(doubt["offset"]), int(doubt["since_boot"])) if doubt else None
        return ClockRecord(str(document["boot_id"]), int(document["offset"]), known)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _recall(home: Home, clock: CheckedClock) -> None:
    if (witness := read_witness(home)) is not None:
        clock.recall(witness)


async def _keep(home: Home, clock: CheckedClock) -> None:
    while True:
        _save(home, clock)
        await asyncio.sleep(LOOK_EVERY)


def _save(home: Home, clock: CheckedClock) -> None:
    """Only what is new, and never in the way of the work: a full disk is for others to report."""
    witness, stored = clock.witness(), read_witness(home)
    if stored is None or not _is_close(witness, stored):
        with contextlib.suppress(OSError):
            write_atomic(home.clock_file, json.dumps(asdict(witness)) + "\n", mode=0o600)


def _is_close(one: ClockRecord, other: ClockRecord) -> bool:
    same = (one.boot_id, one.doubt) == (other.boot_id, other.doubt)
    return same and abs(one.offset - other.offset) <= SMALL_CHANGE_MS
