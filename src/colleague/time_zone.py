"""The time zone that people's hours are meant in."""

from __future__ import annotations

import os
from zoneinfo import ZoneInfo

_LOCAL = "/etc/localtime"


def user_zone(name: str | None) -> ZoneInfo:
    """The zone with this name; else the machine's, and UTC where neither is known."""
    for each in (name, os.environ.get("TZ"), _linked()):
        try:
            if each:
                return ZoneInfo(each.lstrip(":"))
        except (ValueError, OSError):
            continue
    return ZoneInfo("UTC")


def _linked() -> str:
    """The machine's zone by the file that its own clock is linked to."""
    return os.path.realpath(_LOCAL).partition("/zoneinfo/")[2]
