"""File patterns: * ? [abc] within a name, ** over folders, {a,b} for either."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from colleague.agent.tools.path import composed

_EITHER = re.compile(r"\{([^{}]*)\}")
_MOST_PATTERNS = 100


class Glob:
    """A pattern. Without a slash it is about the name alone, in whatever folder."""

    def __init__(self, pattern: str) -> None:
        pattern = composed(pattern).removeprefix("./")
        if "/" not in pattern:
            pattern = f"**/{pattern}"
        self._patterns = [each.strip("/").split("/") for each in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        names = composed(path).lstrip("/").split("/")
        return any(_matches(names, pattern) for pattern in self._patterns)


def _expanded(pattern: str) -> list[str]:
    """The pattern for every choice of its braces."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) < _MOST_PATTERNS:
        each = waiting.pop()
        found = _EITHER.search(each)
        if found is None:
            done.append(each)
        else:
            choices = found.group(1).split(",")
            waiting += [each[: found.start()] + choice + each[found.end() :] for choice in choices]
    return done + waiting


def _matches(names: list[str], pattern: list[str]) -> bool:
    """Which beginnings of the names fit the pattern so far, name by name: never more work than n times m."""
    fits = [True] + [False] * len(names)
    for part in pattern:
        if part == "**":
            first = fits.index(True) if True in fits else len(fits)
            fits = [place >= first for place in range(len(fits))]
        else:
            fits = [False] + [fit and fnmatchcase(name, part) for fit, name in zip(fits, names, strict=False)]
    return fits[-1]
