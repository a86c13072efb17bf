"""The sales team's calendars."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from office.store import insert

Moment = Annotated[str, Field(description="ISO 8601 with offset")]
GRID = timedelta(minutes=30)
FIRST_HOUR, LAST_HOUR = 9, 17
MAX_SLOTS = 20
MAX_WINDOW = timedelta(days=62)


class Slot(TypedDict):
    """A time when all are free."""

    start: str
    end: str


class Slots(TypedDict):
    """Earliest first."""

    slots: list[Slot]


class Meeting(TypedDict):
    """A meeting that was made."""

    meeting_id: str
    link: str


Busy = list[tuple[datetime, datetime]]


def find_free_slots(
    db: sqlite3.Connection,
    attendees: Annotated[list[str], Field(description="Addresses of colleagues who must be free")],
    duration_minutes: Annotated[float, Field(gt=0)],
    window_start: Moment,
    window_end: Moment,
) -> Slots:
    """Find times when all the given colleagues are free: weekdays, nine to five, earliest first."""
    start, end = _period(window_start, window_end)
    busy, length = _busy(db, attendees), timedelta(minutes=duration_minutes)
    free = []
    for moment in _grid(start, min(end, start + MAX_WINDOW) - length):
        if _in_working_hours(moment, length) and _is_free(moment, length, busy):
            free.append(Slot(start=moment.isoformat(), end=(moment + length).isoformat()))
        if len(free) == MAX_SLOTS:
            break
    return Slots(slots=free)


def schedule_meeting(
    db: sqlite3.Connection,
    title: str,
    attendees: Annotated[list[str], Field(description="Addresses of everyone invited", min_length=1)],
    start: Moment,
    end: Moment,
    agenda: Annotated[str, Field(description="What the meeting should decide")] = "",
) -> Meeting:
    """Create a meeting and invite everyone in attendees. The invitations go out at once."""
    starts_at, ends_at = (moment.isoformat() for moment in _period(start, end))
    row = {
        "title": title,
        "attendees": json.dumps(attendees),
        "starts_at": starts_at,
        "ends_at": ends_at,
        "agenda": agenda,
    }
    number = insert(db, "meetings", row)
    return Meeting(meeting_id=f"meet-{number}", link=f"https://meet.radiant.example/{number}")


def _period(start: str, end: str) -> tuple[datetime, datetime]:
    try:
        period = datetime.fromisoformat(start), datetime.fromisoformat(end)
    except ValueError as error:
        raise ToolError(f"{error}; write it as 2026-03-02T09:00:00+11:00") from error
    if any(moment.tzinfo is None for moment in period):
        raise ToolError("a time needs its offset, such as 2026-03-02T09:00:00+11:00")
    if period[0] >= period[1]:
        raise ToolError(f"{start} is not before {end}")
    return period


def _busy(db: sqlite3.Connection, attendees: list[str]) -> Busy:
    wanted = {address.lower() for address in attendees}
    return [
        (datetime.fromisoformat(row["starts_at"]), datetime.fromisoformat(row["ends_at"]))
        for row in db.execute("SELECT * FROM meetings")
        if wanted & {address.lower() for address in json.loads(row["attendees"])}
    ]


def _grid(start: datetime, last: datetime) -> Iterator[datetime]:
    """Every half hour from the first one that is not before the start, in the zone of the start."""
    moment = start.replace(minute=0, second=0, microsecond=0)
    while moment < start:
        moment += GRID
    while moment <= last:
        yield moment
        moment += GRID


def _in_working_hours(moment: datetime, length: timedelta) -> bool:
    closing = moment.replace(hour=LAST_HOUR, minute=0)
    return moment.weekday() < 5 and moment.hour >= FIRST_HOUR and moment + length <= closing


def _is_free(moment: datetime, length: timedelta, busy: Busy) -> bool:
    return all(moment + length <= start or moment >= end for start, end in busy)
