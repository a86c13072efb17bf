"""Times of reminders and regular checks beside cron expressions: each so often, or once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count, pairwise
from zoneinfo import ZoneInfo

from colleague.duration import parse_duration
from colleague.errors import UsageError
from colleague.packages.cron import check_zone, parse_cron
from colleague.store.reminders import Kind, Reminder
from colleague.triggers.schedule import Recurrence, slots

SHORTEST_MS = 60_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Every:
    """Each so many seconds, counted from `start`."""

    seconds: int
    start: datetime = _EPOCH

    def after(self, moment: datetime) -> Iterator[datetime]:
        step = timedelta(seconds=self.seconds)
        first = max(1, (moment - self.start) // step + 1)
        return (self.start + number * step for number in count(first))


@dataclass(frozen=True)
class Once:
    at: datetime

    def after(self, moment: datetime) -> Iterator[datetime]:
        return iter((self.at,) if self.at > moment else ())


def recurrence_of(reminder: Reminder) -> Recurrence:
    return recurrence(reminder.kind, reminder.schedule, reminder.zone, reminder.created_at)


def recurrence(kind: Kind, schedule: str, zone: str, start_ms: int) -> Recurrence:
    """Raises UsageError for a schedule that cannot be understood or comes too often."""
    try:
        check_zone(zone)
        if kind == "cron":
            found: Recurrence = parse_cron(schedule, zone)
        elif kind == "every":
            found = Every(parse_duration(schedule).seconds, _EPOCH + timedelta(milliseconds=start_ms))
        else:
            found = Once(_moment(schedule, ZoneInfo(zone)))
    except (ValueError, OverflowError) as error:
        raise UsageError(str(error)) from None
    if kind == "every" and parse_duration(schedule).milliseconds < SHORTEST_MS:
        raise UsageError(f"every {schedule} is too often", hint="at most once each minute")
    _require_rare(found, start_ms)
    return found


def _moment(text: str, zone: tzinfo) -> datetime:
    """An ISO time; without an offset it is meant in the zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no ISO time; write such as 2026-03-01T09:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _require_rare(found: Recurrence, start_ms: int) -> None:
    times = slots(found, start_ms, start_ms + 400 * 86_400_000, 5)
    if any(later - earlier < SHORTEST_MS for earlier, later in pairwise(times)):
        raise UsageError(
            "the schedule fires more often than once each minute", hint="at most once each minute"
        )
