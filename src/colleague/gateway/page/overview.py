"""The overview: how the last days went, in charts that lead to their rows."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from colleague.gateway.gateway import GatewayDep
from colleague.gateway.page.charts import Chart, Series, bars, columns
from colleague.gateway.page.render import page
from colleague.gateway.page.visitor import VisitorDep
from colleague.overview_document import OverviewDocument
from colleague.store.statistics import BAD, DAY_MS, day_start

router = APIRouter(include_in_schema=False)

SPANS = (7, 14, 30)
MOST_EXPERTS = 5
MOST_BARS = 8
REST = "others"
_OUTCOMES = {
    "completed": "ok",
    "failed": "bad",
    "dead_letter": "dead",
    "abandoned": "wait",
    "cancelled": "soft",
}
_STATUSES = {"running": "ok", "queued": "c1", "waiting": "wait", "retrying": "bad"}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
Days = Annotated[int, Query(ge=1, le=31)]
Seconds = Annotated[int | None, Query(ge=0, le=10**9)]


@router.get("/overview")
async def show_overview(visitor: VisitorDep, gateway: GatewayDep, days: Days = 7) -> HTMLResponse:
    found = await gateway.service.overview(days)
    more: dict[str, Any] = {"days": days, "spans": SPANS, "figures": _figures(found), "charts": charts(found)}
    return page("overview.html", visitor, **more)


@router.get("/overview/decisions")
async def show_decisions(
    visitor: VisitorDep,
    gateway: GatewayDep,
    days: Days = 7,
    from_seconds: Seconds = None,
    to_seconds: Seconds = None,
) -> HTMLResponse:
    rows = await gateway.service.decisions(days, from_seconds or 0, to_seconds)
    which = wait_label(from_seconds or 0, to_seconds) if from_seconds or to_seconds else ""
    return page("decisions.html", visitor, rows=rows, days=days, which=which)


def charts(found: OverviewDocument) -> list[Chart]:
    """In the order of the page."""
    return [
        _outcomes(found),
        _waits(found),
        _spend(found, "tokens"),
        _spend(found, "cost"),
        _queue(found),
        _failures(found),
    ]


def _figures(found: OverviewDocument) -> list[tuple[str, str]]:
    ended = sum(each["runs"] for each in found["outcomes"])
    well = sum(each["runs"] for each in found["outcomes"] if each["outcome"] == "completed")
    open_now = sum(each["runs"] for each in found["queue"])
    median = found["median_wait_seconds"]
    return [
        ("runs ended", plain_number(ended)),
        ("completed", f"{well / ended:.0%}" if ended else "–"),
        ("under way now", plain_number(open_now)),
        ("median time to decision", "–" if median is None else spoken_seconds(median)),
        ("tokens", short_number(sum(each["tokens"] for each in found["spend"]))),
        ("cost", money(sum(each["cost"] for each in found["spend"]))),
    ]


def _outcomes(found: OverviewDocument) -> Chart:
    values = {(each["day"], each["outcome"]): float(each["runs"]) for each in found["outcomes"]}

    def link(day: str, outcome: str) -> str:
        return runs_link(status=outcome, **_day(day))

    series = Series(tuple(found["days"]), _OUTCOMES, values, _day_labels(found["days"]), short_number, link)
    about = "Runs that came in on each day, by how they ended."
    return columns("outcomes", "Runs by outcome", about, series)


def _waits(found: OverviewDocument) -> Chart:
    spans = {str(each["from_seconds"]): each for each in found["waits"]}
    labels = {key: wait_label(each["from_seconds"], each["to_seconds"]) for key, each in spans.items()}
    values = {(key, "decisions"): float(each["decisions"]) for key, each in spans.items()}

    def link(key: str, _: str) -> str:
        asked = {"days": len(found["days"]), **{n: spans[key][n] for n in ("from_seconds", "to_seconds")}}
        given = {name: value for name, value in asked.items() if value is not None}
        return f"/overview/decisions?{urlencode(given)}"

    series = Series(tuple(spans), {"decisions": "c1"}, values, labels, short_number, link)
    about = f"How long people took to decide, of at most {found['looked_at']:,} decisions."
    return columns("waits", "Time to decision", about, series)


def _spend(found: OverviewDocument, what: str) -> Chart:
    totals: dict[str, float] = {}
    for each in found["spend"]:
        totals[each["expert"]] = totals.get(each["expert"], 0) + float(each[what])  # type: ignore[literal-required]
    named = sorted((name for name in totals if totals[name]), key=lambda name: -totals[name])[:MOST_EXPERTS]
    colours = {name: f"c{number + 1}" for number, name in enumerate(named)}
    values: dict[tuple[str, str], float] = {}
    for each in found["spend"]:
        key = (each["day"], each["expert"] if each["expert"] in colours else REST)
        values[key] = values.get(key, 0) + float(each[what])  # type: ignore[literal-required]

    def link(day: str, expert: str) -> str:
        return runs_link(**({} if expert == REST else {"expert": expert}), **_day(day))

    amount = money if what == "cost" else short_number
    labels = _day_labels(found["days"])
    series = Series(tuple(found["days"]), {**colours, REST: "soft"}, values, labels, amount, link)
    title = "Money per expert and day" if what == "cost" else "Tokens per expert and day"
    about = "What the requests to models cost, in dollars." if what == "cost" else "Tokens in and out."
    return columns(what, title, about, series)


def _queue(found: OverviewDocument) -> Chart:
    totals: dict[str, int] = {}
    for each in found["queue"]:
        totals[each["expert"]] = totals.get(each["expert"], 0) + each["runs"]
    places = tuple(sorted(totals, key=lambda name: -totals[name])[:MOST_BARS])
    values = {(each["expert"], each["status"]): float(each["runs"]) for each in found["queue"]}

    def link(expert: str, status: str) -> str:
        return runs_link(expert=expert, status=status)

    series = Series(places, _STATUSES, values, {}, short_number, link)
    return bars("queue", "Queue now", "Unfinished runs of each expert, by what they are doing.", series)


def _failures(found: OverviewDocument) -> Chart:
    values = {(each["cause"], ""): float(each["runs"]) for each in found["failures"]}

    def link(cause: str, _: str) -> str:
        more = {"error": cause} if cause else {}
        return runs_link(status=",".join(BAD), since=found["days"][0] + "T00:00Z", **more)

    places = tuple(each["cause"] for each in found["failures"])
    series = Series(places, {"": "bad"}, values, {"": "no error was said"}, short_number, link)
    about = "Runs that failed, by how their error begins."
    return bars("failures", "Failures by cause", about, series)


def runs_link(**chosen: str) -> str:
    return f"/runs?{urlencode(chosen)}"


def _day(day: str) -> dict[str, str]:
    """A day of UTC, as the filters of the run list have it."""
    from colleague.store.spend import day_of

    return {"since": f"{day}T00:00Z", "until": f"{day_of(day_start(day) + DAY_MS)}T00:00Z"}


def _day_labels(days: list[str]) -> dict[str, str]:
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return {day: f"{int(day[8:])} {months[int(day[5:7]) - 1]}" for day in days}


def wait_label(begin: int, end: int | None) -> str:
    if end is None:
        return f"> {spoken_seconds(begin)}"
    if not begin:
        return f"< {spoken_seconds(end)}"
    size, unit = next(each for each in _UNITS if begin >= each[0])
    return f"{begin // size}–{end // size} {unit}"


def spoken_seconds(seconds: int) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def plain_number(number: float) -> str:
    return f"{number:,.0f}"


def short_number(number: float) -> str:
    """Three digits are enough to see: 950, 1.2k, 3M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def money(dollars: float) -> str:
    if not dollars:
        return "$0"
    written = f"{dollars:,.2f}" if dollars >= 0.1 else f"{dollars:.4f}".rstrip("0")
    return f"${written.removesuffix('.00')}"
