"""Numbers for Prometheus. Labels are words of ours, never a caller's, so there are only so many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily

CONTENT_TYPE = CONTENT_TYPE_LATEST
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))


@dataclass(frozen=True)
class StoredGauge:
    """A value that is read when somebody asks: one number, or one for each word of a label."""

    name: str
    values: Mapping[str, float] | float
    label: str = ""


class Metrics:
    """Counts since the start of this process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        answer = ("method", "route", "code")
        self._requests = Counter(
            "colleague_http_requests", "Answers by route and code", answer, registry=registry
        )
        self._seconds = Counter(
            "colleague_http_seconds", "Time spent on answers", ("route",), registry=registry
        )
        self._events = Counter(
            "colleague_events", "Events from outside", ("result", "reason"), registry=registry
        )
        self.loop_lag = Gauge(
            "colleague_loop_lag_seconds",
            "How late the event loop woke, the worst of the last minute",
            registry=registry,
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """`status` 0 is a caller that went away."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status) if status else "gone").inc()
        self._seconds.labels(route).inc(seconds)

    def event(self, result: str, reason: str = "") -> None:
        """`accepted`, `held`, `duplicate`, or `refused` with one of our own words for why."""
        self._events.labels(result, reason).inc()

    def page(self, stored: list[StoredGauge]) -> bytes:
        """The whole text; `stored` are the gauges that were read off the database."""
        return generate_latest(_Page(self._registry, stored))


class _Page(CollectorRegistry):
    """The counts of a registry and the gauges of one request."""

    def __init__(self, counted: CollectorRegistry, stored: list[StoredGauge]) -> None:
        super().__init__()
        self._counted = counted
        self._stored = stored

    def collect(self) -> Iterator[Metric]:
        yield from self._counted.collect()
        yield from map(_family, self._stored)


def _family(gauge: StoredGauge) -> Metric:
    name, told = f"colleague_{gauge.name}", gauge.name.replace("_", " ")
    if isinstance(gauge.values, Mapping):
        family = GaugeMetricFamily(name, told, labels=[gauge.label])
        for word, value in sorted(gauge.values.items()):
            family.add_metric([word], value)
        return family
    return GaugeMetricFamily(name, told, value=gauge.values)
