"""Numbers for Prometheus. Labels are words of ours, never a caller's, so there are only so many."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))

Labels = tuple[tuple[str, str], ...]
Values = Mapping[Labels, float]


class Metrics:
    """Counts since the start of this process."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._events: Counter[tuple[str, str]] = Counter()
        self.loop_lag = 0.0
        """Seconds by which the loop woke too late, the worst of the last minute."""

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """`status` 0 is a caller that went away."""
        known = method if method in METHODS else "other"
        self._requests[known, route, str(status) if status else "gone"] += 1
        self._seconds[route] += seconds

    def event(self, result: str, reason: str = "") -> None:
        """`accepted`, `held`, `duplicate`, or `refused` with one of our own words for why."""
        self._events[result, reason] += 1

    def lines(self, stored: Mapping[str, Mapping[Labels, float]]) -> str:
        """The whole text; `stored` are the gauges that were read off the database."""
        out: list[str] = []
        requests: Values = {
            (("method", method), ("route", route), ("code", code)): float(count)
            for (method, route, code), count in self._requests.items()
        }
        seconds: Values = {(("route", route),): spent for route, spent in self._seconds.items()}
        events: Values = {
            (("result", result), ("reason", reason)): float(count)
            for (result, reason), count in self._events.items()
        }
        out += _family("colleague_http_requests_total", "counter", "Answers by route and code", requests)
        out += _family("colleague_http_seconds_total", "counter", "Time spent on answers", seconds)
        out += _family("colleague_events_total", "counter", "Events from outside", events)
        lag: Values = {(): self.loop_lag}
        out += _family("colleague_loop_lag_seconds", "gauge", "How late the event loop woke", lag)
        for name, values in stored.items():
            out += _family(f"colleague_{name}", "gauge", name.replace("_", " "), values)
        for name, kind, value in _process():
            out += _family(name, kind, name.replace("_", " "), {(): value})
        return "\n".join(out) + "\n"


def labelled(name: str, counts: Mapping[str, float]) -> dict[Labels, float]:
    return {((name, word),): float(count) for word, count in counts.items()}


def _family(name: str, kind: str, told: str, values: Mapping[Labels, float]) -> Iterable[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(values.items()):
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        yield f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _process() -> list[tuple[str, str, float]]:
    found = [("process_cpu_seconds_total", "counter", sum(os.times()[:2]))]
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        found.append(("process_resident_memory_bytes", "gauge", float(pages * os.sysconf("SC_PAGE_SIZE"))))
        found.append(("process_open_fds", "gauge", float(len(os.listdir("/proc/self/fd")))))  # noqa: PTH208
    except OSError:
        pass  # not Linux
    return found
