"""Ids that sort by time (UUIDv7), and the short endings that people type."""

from __future__ import annotations

import os
import threading

from colleague.clock import machine_clock
from colleague.run_document import short

__all__ = ["new_id", "short"]

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A UUIDv7 that is greater than every one this process made before."""
    global _last  # noqa: PLW0603, RUF100 - the only way to stay monotonic within a millisecond
    moment = machine_clock().now() << 74
    with _lock:
        _last = max(_last + 1, moment | int.from_bytes(os.urandom(9)) & (1 << 74) - 1)
        value = _last
    high, low = value >> 62, value & (1 << 62) - 1
    number = (high >> 12) << 80 | 0x7 << 76 | (high & 0xFFF) << 64 | 0x2 << 62 | low
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
