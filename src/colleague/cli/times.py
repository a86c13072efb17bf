"""Times as people read them: relative on a terminal, ISO for other programs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

_STEPS = ((60, "s", 1), (3600, "min", 60), (86_400, "h", 3600))
_FAR_DAYS = 14


def moment(iso: str | None, now: datetime | None = None) -> str:
    """`5 min ago` or `in 2 h` on a terminal, with the local date when that is far away; else as it is."""
    if not iso or not sys.stdout.isatty():
        return iso or ""
    return relative(datetime.fromisoformat(iso), now or datetime.now(UTC))


def relative(at: datetime, now: datetime) -> str:
    away = at - now
    if abs(away) > timedelta(days=_FAR_DAYS):
        return local(at)
    span = spoken(abs(away))
    if span == "0 s":
        return "now"
    return f"in {span}" if away > timedelta(0) else f"{span} ago"


def spoken(span: timedelta) -> str:
    """One unit is enough for a person, rounded: `40 s`, `5 min`, `3 h`, `2 days`."""
    seconds = span.total_seconds()
    for below, unit, size in _STEPS:
        count = round(seconds / size)
        if count * size < below:
            return f"{count} {unit}"
    days = round(seconds / 86_400)
    return f"{days} day{'s' * (days > 1)}"


def local(at: datetime) -> str:
    """In the zone of this machine, to the minute."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
