"""state/plugins.json: which plugins a person enabled, what each registered, and what went wrong in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from colleague.config import Settings
from colleague.errors import ConfigError
from colleague.files import locked, write_atomic
from colleague.home import Home

MOST_PROBLEMS = 20


@dataclass(frozen=True)
class PluginProblem:
    """Something that went wrong, how often, and when last (milliseconds)."""

    place: str
    message: str
    count: int = 1
    at: int = 0


@dataclass(frozen=True)
class PluginRecord:
    """A person's yes is to the files as they were then: to `digest`."""

    digest: str = ""
    enabled_by: str = ""
    enabled_at: int = 0
    registered: Mapping[str, list[str]] = field(default_factory=dict)
    """Names by what they are: hooks, tools, channels, ..., as of the last time it was loaded."""
    problems: tuple[PluginProblem, ...] = ()

    @property
    def enabled(self) -> bool:
        return bool(self.digest)

    def with_problem(self, place: str, message: str, times: int = 1) -> PluginRecord:
        """The same problem again is counted; the oldest of too many is dropped."""
        before = next(
            (each for each in self.problems if (each.place, each.message) == (place, message)), None
        )
        others = [each for each in self.problems if each is not before]
        count = (before.count if before else 0) + times
        added = PluginProblem(place, message, count, int(time.time() * 1000))
        return replace(self, problems=(*others, added)[-MOST_PROBLEMS:])


def read_plugin_records(home: Home) -> dict[str, PluginRecord]:
    file = home.plugins_file
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {name: _record(item) for name, item in data["plugins"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{file} cannot be read: {error}", hint="mend or delete it; then enable your plugins again"
        ) from None


def any_enabled(home: Home, settings: Settings) -> bool:
    """Whether a plugin would be loaded. Records that cannot be read load none; whoever loads them says so."""
    try:
        return settings.plugins.enabled and any(each.enabled for each in read_plugin_records(home).values())
    except ConfigError:
        return False


def change_record(home: Home, name: str, change: Callable[[PluginRecord], PluginRecord | None]) -> None:
    """Changes, or with None forgets, what is known of one plugin."""
    with locked(home.state / "plugins.lock"):
        records = read_plugin_records(home)
        before = records.pop(name, PluginRecord())
        after = change(before)
        if after is not None:
            records[name] = after
        if after != before:
            document = {"plugins": {key: asdict(records[key]) for key in sorted(records)}}
            write_atomic(home.plugins_file, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _record(item: dict[str, Any]) -> PluginRecord:
    return PluginRecord(
        str(item["digest"]),
        str(item["enabled_by"]),
        int(item["enabled_at"]),
        {str(kind): [str(name) for name in names] for kind, names in item["registered"].items()},
        tuple(PluginProblem(**each) for each in item["problems"]),
    )
