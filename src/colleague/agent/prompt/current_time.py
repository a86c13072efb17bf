"""Which day and time it is for the user: a section near the end of every system prompt.

All that changes from turn to turn stands at the end, so that everything before it stays byte-equal and
cached. It is made once each time a run is taken up: within that stretch of work the whole prompt stays the
same, and a run that goes on after two days of waiting knows the right day."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from colleague.config import Settings

TITLE = "## Current Date and Time"


def time_section(settings: Settings, now_ms: int) -> str:
    """Weekday, date, minute and zone: the user's, else the machine's."""
    defaults = settings.agents.defaults
    zone = _zone(defaults.user_timezone)
    moment = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone)
    clock = "%I:%M %p" if defaults.time_format == "12" else "%H:%M"
    where = zone.key if isinstance(zone, ZoneInfo) else moment.tzname()
    offset = moment.strftime("%z")
    day = f"{moment:%A}, {moment.day} {moment:%B %Y}"
    return f"{TITLE}\n\n{day}, {moment:{clock}} ({where}, UTC{offset[:3]}:{offset[3:5]})"


def _zone(name: str | None) -> tzinfo | None:
    """None is the machine's own, also where a name is not known here."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError):
        return None
