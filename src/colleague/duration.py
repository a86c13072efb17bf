"""Durations as authors write them: 30s, 5m, 2h, 1d."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PATTERN = re.compile(r"(\d{1,9})\s*([smhd])")


@dataclass(frozen=True)
class Duration:
    """A length of time, as typed and in seconds."""

    text: str
    seconds: int

    @property
    def milliseconds(self) -> int:
        return self.seconds * 1000

    def __str__(self) -> str:
        return self.text


def parse_duration(text: str) -> Duration:
    """Raises ValueError, with a sentence for the author, when `text` is no duration."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration; write a number and a unit, such as 30s, 5m, 2h or 1d")
    return Duration(f"{int(match[1])}{match[2]}", int(match[1]) * _UNITS[match[2]])


def parse_positive_duration(text: str) -> Duration:
    """The same, for limits that make no sense without any time."""
    duration = parse_duration(text)
    if duration.seconds == 0:
        raise ValueError(f"{text!r} is no time at all; write at least 1s, or leave the field out")
    return duration
