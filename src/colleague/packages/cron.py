"""Cron expressions: five fields, or six with seconds first, in an IANA time zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_NEVER = "Never fires"


@dataclass(frozen=True)
class Cron:
    """A schedule. `fires` is False when no date ever matches."""

    text: str
    zone: str
    fires: bool = True

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The times it fires, later than `moment`, in its own zone."""
        from zoneinfo import ZoneInfo

        from cronsim import CronSim

        if not self.fires:
            return iter(())
        expression = _NICKNAMES.get(self.text, self.text)
        return iter(CronSim(expression, moment.astimezone(ZoneInfo(self.zone))))


def parse_cron(text: str, zone: str = "UTC") -> Cron:
    """Raises ValueError, with a sentence for the author, when `text` is no cron expression."""
    fields = _NICKNAMES.get(text.strip().lower(), text.strip()).split()
    if len(fields) not in (5, 6):
        raise ValueError(
            f"{text!r} has {len(fields)} fields; a cron expression has 5 "
            "(minute hour day month weekday), or 6 with seconds first"
        )
    problem = _problem(fields)
    if problem is None:
        return Cron(" ".join(fields), zone)
    any_month = [*fields[:-2], "*", fields[-1]]
    if problem == _NEVER or (problem == "Bad day-of-month" and _problem(any_month) is None):
        return Cron(" ".join(fields), zone, fires=False)
    raise ValueError(f"{text!r} is no cron expression: {problem[0].lower()}{problem[1:]} field")


def _problem(fields: list[str]) -> str | None:
    from cronsim import CronSim, CronSimError

    try:
        next(CronSim(" ".join(fields), datetime(2026, 1, 1)))  # noqa: DTZ001, RUF100 - any date will do
    except CronSimError as error:
        return str(error)
    except StopIteration:
        return _NEVER
    return None


def check_zone(zone: str) -> None:
    """Raises ValueError when `zone` is no IANA time zone."""
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{zone!r} is no IANA time zone; write one such as Europe/Berlin or UTC") from None
