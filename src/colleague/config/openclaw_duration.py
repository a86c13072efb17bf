"""Lengths of time as OpenClaw's files have them."""

from __future__ import annotations

import math
import re

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|[smhd])?")
_DURATIONS = re.compile(r"[0-9]{1,9}|(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|[smhd])){1,5}")


def openclaw_duration(value: object) -> object:
    """OpenClaw also writes 90 (for minutes), 500ms and 1h30m; here they become seconds."""
    if not isinstance(value, str) or not _DURATIONS.fullmatch(value):
        return value
    parts = [(float(number), _SECONDS[unit or "m"]) for number, unit in _DURATION.findall(value)]
    return f"{math.ceil(sum(number * seconds for number, seconds in parts))}s"
