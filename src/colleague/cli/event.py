"""colleague event: what happened to what came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.store.paging import Page
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Events: what came in, and what became of it.")

MOST_SKIPPED = 5


@app.command()
def show(
    event: Annotated[str, typer.Argument(metavar="ID", help="The ending of an event's id.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What happened to an event: accepted, run, delivered."""
    from colleague.cli.client import opened, with_database
    from colleague.cli.output import say, say_json
    from colleague.experts.runs.redacted_report import event_report
    from colleague.store.lookup import full_id
    from colleague.store.tables import events

    place, _ = opened(home)
    document = with_database(
        home, lambda db: db.read(lambda tx: event_report(tx, place, full_id(tx, events, "event", event)))
    )
    if as_json:
        say_json(document)
        return
    for line in _lines(document):
        say(line)


@app.command("list")
def list_(
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The events, the newest first."""
    from dataclasses import asdict

    from colleague.cli.client import with_database
    from colleague.cli.output import note_as_is, say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.cli.status_view import skipped_line
    from colleague.cli.times import moment
    from colleague.run_document import short
    from colleague.store.event_report import events_page, skipped_lately
    from colleague.store.paging import count_rows
    from colleague.store.tables import events

    def read(tx: Tx, start: str | None) -> Page[dict[str, Any]]:
        return events_page(tx, limit=limit, after=start)

    work = page_reader(events, "event", after, read, lambda tx: count_rows(tx, events, ()))
    (page, total), skipped = with_database(
        home, lambda database: database.read(lambda tx: (work(tx), skipped_lately(tx)))
    )
    found = page.items
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (
                short(d["id"]),
                d["expert"],
                d["trigger"],
                moment(d["at"]),
                d["state"],
                d["reason"] or d["warning"] or "",
            )
            for d in found
        ]
        say_table(("ID", "EXPERT", "TRIGGER", "ACCEPTED", "STATE", "NOTE"), rows)
    elif not after:
        say("There are no events.")
    note_more(page, total, "colleague event list")
    for each in [] if after else skipped[:MOST_SKIPPED]:
        note_as_is(skipped_line(asdict(each)))


def _lines(document: dict[str, Any]) -> list[str]:
    from colleague.cli.times import moment

    accepted, run, delivery = document["accepted"], document["run"], document["delivery"]
    repeats = f", and {accepted['duplicates']} repeats" if accepted["duplicates"] else ""
    lines = [
        f"event {document['id']} for {document['expert']}/{document['trigger']}",
        f"  accepted: {moment(accepted['at'])} from {document['source']}{repeats}",
    ]
    if document["warning"]:
        lines.append(f"  warning: {document['warning']}")
    if accepted["held"]:
        lines.append("  held: its trigger is paused")
    elif run is None:
        lines.append(f"  {document['status']}: {document['reason'] or ''}")
    else:
        earlier = f"{run['behind']} earlier run{'' if run['behind'] == 1 else 's'}"
        behind = f", behind {earlier}" if run["behind"] else ""
        error = f": {run['error']}" if run["error"] else ""
        lines.append(f"  run: {run['id'][-8:]} {run['outcome'] or run['status']}{behind}{error}")
        lines.append(f"  {_delivery_text(delivery)}")
    return lines


def _delivery_text(delivery: dict[str, Any] | None) -> str:
    from colleague.cli.times import moment

    if delivery is None:
        return "delivered: nothing yet"
    when = f" {moment(delivery['at'])}" if delivery["at"] else ""
    what = "delivered" if delivery["kind"] == "delivery" else "escalated"
    error = f": {delivery['error']}" if delivery["error"] else ""
    return f"{what}: {delivery['status']} to {delivery['channel']}{when}{error}"
