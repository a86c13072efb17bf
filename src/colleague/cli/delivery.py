"""colleague delivery: what runs told people, and whether anybody has read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home
    from colleague.run_document import MessageDocument
    from colleague.store.paging import Page
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Deliveries: what runs have told, and who has read it.")

MOST_AT_ONCE = 1000


@app.command("list")
def list_(
    all_: Annotated[bool, typer.Option("--all", help="Also what was delivered, the newest first.")] = False,
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What nobody has read yet, the oldest first."""
    from colleague.cli.client import opened, with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.cli.times import moment
    from colleague.run_document import short
    from colleague.store.outbox import count_deliveries
    from colleague.store.overview import count_unread
    from colleague.store.tables import outbox

    place, _ = opened(home)

    def read(tx: Tx, start: str | None) -> Page[MessageDocument]:
        return _page(tx, place, unread=not all_, limit=limit, after=start)

    work = page_reader(outbox, "delivery", after, read, count_deliveries if all_ else count_unread)
    page, total = with_database(home, lambda database: database.read(work))
    if as_json:
        say_json(page.items)
    elif page.items:
        rows = [
            (
                short(d["id"]),
                d["kind"],
                d["body"].get("expert", ""),
                short(d["run_id"]),
                d["status"],
                moment(d["at"]),
                _brief(d),
            )
            for d in page.items
        ]
        say_table(("ID", "KIND", "EXPERT", "RUN", "STATUS", "AT", "TEXT"), rows)
    elif not after:
        say("There are no deliveries." if all_ else "There is nothing to read.")
    note_more(page, total, f"colleague delivery list{' --all' if all_ else ''}")


@app.command()
def show(
    delivery: Annotated[str, typer.Argument(metavar="ID", help="The ending of a delivery's id.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The whole text of one of them. Looking does not make it read."""
    from colleague.cli.client import opened, with_database
    from colleague.cli.output import say, say_json

    place, _ = opened(home)
    document = with_database(
        home, lambda database: database.read(lambda tx: _documents(tx, place, [delivery])[0])
    )
    if as_json:
        say_json(document)
    else:
        say("\n".join(_lines(document)))


@app.command()
def read(
    deliveries: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Endings of deliveries' ids.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Everything that nobody has read.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was told, and note that you have read it: from then on it is delivered."""
    from colleague.cli.client import opened, with_client, with_database
    from colleague.errors import UsageError

    if bool(deliveries) == all_:
        raise UsageError("nothing says which deliveries", hint="give their ids, or --all")
    place, _ = opened(home)

    def find(tx: Tx) -> list[MessageDocument]:
        if deliveries:
            return _documents(tx, place, deliveries)
        return _page(tx, place, unread=True, limit=MOST_AT_ONCE).items

    found = with_database(home, lambda database: database.read(find))
    with_client(home, lambda using: _read(using, found, as_json=as_json))


async def _read(using: Client, found: list[MessageDocument], *, as_json: bool) -> None:
    """Shown first and noted afterwards: what could not be shown stays unread."""
    import getpass

    from colleague.cli.output import say, say_json

    if as_json:
        say_json(found)
    for each in found:
        if not as_json:
            say("\n".join([*_lines(each), ""]))
        await using.service.read(each["id"], getpass.getuser())
    if not found and not as_json:
        say("There is nothing to read.")


def _page(tx: Tx, home: Home, *, unread: bool, limit: int, after: str | None = None) -> Page[MessageDocument]:
    from colleague.experts.runs.redacted_report import outbox_report
    from colleague.store.outbox import deliveries_page
    from colleague.store.paging import Page

    page = deliveries_page(tx, unread=unread, limit=limit, after=after)
    return Page([outbox_report(tx, home, each) for each in page.items], page.next_after)


def _documents(tx: Tx, home: Home, endings: list[str]) -> list[MessageDocument]:
    from colleague.experts.runs.redacted_report import outbox_report
    from colleague.store.lookup import full_id
    from colleague.store.outbox import get_delivery
    from colleague.store.tables import outbox

    ids = [full_id(tx, outbox, "delivery", ending) for ending in endings]
    return [outbox_report(tx, home, get_delivery(tx, each)) for each in ids]


def _expert(document: MessageDocument) -> str:
    return str(document["body"].get("expert", ""))


def _text(document: MessageDocument) -> str:
    body = document["body"]
    return str(body.get("narrative") or body.get("reason") or body.get("title") or "")


def _brief(document: MessageDocument) -> str:
    return " ".join(_text(document).split())[:80]


def _lines(document: MessageDocument) -> list[str]:
    import json

    from colleague.cli.times import moment
    from colleague.run_document import short

    body = document["body"]
    error = f": {document['error']}" if document["error"] else ""
    reader = f" by {document['read_by']}" if document["read_by"] else ""
    when = f" {moment(document['at'])}" if document["at"] else ""
    which = f"{document['kind']} {short(document['id'])} of run {short(document['run_id'])}"
    head = f"{which} ({_expert(document)})"
    lines = [
        f"{head} to {document['channel']}: {document['status']}{reader}{when}{error}",
        "",
        _text(document),
    ]
    for name in ("outputs", "context"):
        if body.get(name):
            lines += ["", json.dumps(body[name], indent=2, ensure_ascii=False)]
    return [*lines, *(["", body["recommendation"]] if body.get("recommendation") else [])]
