"""colleague run: what was done, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.completion import complete_run
from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.paging import Page
    from colleague.store.run import Run
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Runs: what was done, and what goes on.")

LOOKS = 10
"""Of so many looks at a run one also asks whether anybody works on it."""

RunArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The ending of a run's id.", autocompletion=complete_run)
]


@app.command("list")
def list_(
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The runs, the newest first."""
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.hosting import with_database
    from colleague.cli.output import note, say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.cli.trouble_text import status_word, trouble_line
    from colleague.store.ids import short
    from colleague.store.paging import count_rows
    from colleague.store.report import brief_document, runs_page
    from colleague.store.tables import runs

    def read(tx: Tx, start: str | None) -> Page[Run]:
        return runs_page(tx, limit=limit, after=start)

    work = page_reader(runs, "run", after, read, lambda tx: count_rows(tx, runs, ()))
    page, total = with_database(home, lambda database: database.read(work))
    documents = [brief_document(run) for run in page.items]
    if as_json:
        say_json(documents)
    elif documents:
        rows = [
            (
                short(d["id"]),
                d["expert"],
                d["process"],
                status_word(d),
                d["created_at"],
                d["error"] or (trouble_line(d["trouble"]) if d["trouble"] else ""),
            )
            for d in documents
        ]
        say_table(("ID", "EXPERT", "PROCESS", "STATUS", "ACCEPTED", "ERROR"), rows)
        for line in abandoned_lines(home, documents):
            note(line)
    elif not after:
        say("There are no runs.")
    note_more(page, total, "colleague run list")


@app.command()
def show(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one run: steps, attempts, calls, approvals, delivery, cost."""
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.output import say, say_json
    from colleague.cli.run_text import run_lines

    document = _report(home, run)
    if as_json:
        say_json(document)
        return
    head, *rest = run_lines(document)
    for line in (head, *(f"  {each}" for each in abandoned_lines(home, [document])), *rest):
        say(line)


def _report(home: Path | None, ending: str) -> dict[str, Any]:
    from colleague.cli.hosting import opened, with_database
    from colleague.experts.runs.report import run_report
    from colleague.store.lookup import full_id
    from colleague.store.tables import runs

    place, _ = opened(home)
    return with_database(
        home,
        lambda database: database.read(lambda tx: run_report(tx, place, full_id(tx, runs, "run", ending))),
    )


@app.command()
def watch(run: RunArgument, home: HomeOption = None) -> None:
    """Follow a run until it ends or waits for a person, whoever works on it. Ctrl-C ends the watching."""
    from colleague.cli.output import note, say
    from colleague.cli.run_text import end_lines

    try:
        document = _watched(home, run)
    except KeyboardInterrupt:
        note(_what_goes_on(home, run))
        raise typer.Exit(130) from None
    for line in end_lines(document):
        say(line)
    if document["status"] == "waiting":
        raise typer.Exit(4)
    if document["outcome"] != "completed":
        raise typer.Exit(1)


def _watched(home: Path | None, run: str) -> dict[str, Any]:
    """Shows what happens until there is nothing more to watch."""
    import itertools
    import time

    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.output import note
    from colleague.cli.run_text import progress_lines

    shown: set[str] = set()
    for look in itertools.count():
        document = _report(home, run)
        for key, line in progress_lines(document):
            if key not in shown:
                shown.add(key)
                note(line)
        if document["status"] in ("done", "waiting"):
            break
        if look % LOOKS == 0:
            for line in abandoned_lines(home, [document]):
                if line not in shown:
                    shown.add(line)
                    note(line)
        time.sleep(0.3)
    return document


def _what_goes_on(home: Path | None, run: str) -> str:
    """For whoever stops watching."""
    from colleague.cli.hosting import opened, with_database
    from colleague.cli.interrupt import what_stays
    from colleague.runtime.gateway_file import gateway_runs
    from colleague.runtime.presence import nobody_works
    from colleague.store.lookup import full_id
    from colleague.store.run import get_run
    from colleague.store.tables import runs
    from colleague.store.tx import Database

    place, settings = opened(home)

    async def look(database: Database) -> str:
        found = await database.read(lambda tx: get_run(tx, full_id(tx, runs, "run", run)))
        if await nobody_works(place, settings, database):
            return what_stays(found, "")
        return what_stays(found, "the gateway" if gateway_runs(place) else "another process")

    return with_database(home, look)


@app.command()
def resume(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Go on with a run that nobody works on, in this process. With a gateway it is the gateway's."""
    from colleague.cli.run_view import end_with
    from colleague.cli.working import with_client

    with_client(home, lambda using: _resume(using, run, as_json))
    end_with()


async def _resume(using: Client, ending: str, as_json: bool) -> None:
    from colleague.cli.client import GatewayClient
    from colleague.cli.output import note
    from colleague.cli.resume import require_resumable
    from colleague.cli.run_view import say_documents
    from colleague.runtime.gateway_file import gateway_runs
    from colleague.store.ids import short
    from colleague.store.lookup import full_id
    from colleague.store.tables import runs

    run_id = await using.database.read(lambda tx: full_id(tx, runs, "run", ending))
    await using.database.read(lambda tx: require_resumable(tx, using.database, run_id))
    if isinstance(using, GatewayClient) or gateway_runs(using.home):
        shown = short(run_id)
        note(f"the gateway has run {shown} and goes on with it; watch: colleague run watch {shown}")
        return
    documents = await using.follow([run_id], quiet=as_json)
    await say_documents(using.database, using.home, documents, as_json=as_json)


@app.command()
def retry(
    run: RunArgument,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="Change an input; repeatable.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a run that ended badly again: same run, next attempt, the package that is installed now."""
    from colleague.cli.hosting import opened
    from colleague.cli.interrupt import run_interruptibly
    from colleague.cli.run_view import end_with

    place, settings = opened(home)
    run_interruptibly(lambda: _retry(place, settings, run, inputs or [], as_json))
    end_with()


async def _retry(home: Home, settings: Settings, ending: str, given: list[str], as_json: bool) -> None:
    from colleague.cli.client import open_client
    from colleague.cli.run_view import say_documents
    from colleague.experts.runs.retry import changed_inputs
    from colleague.store.lookup import full_id
    from colleague.store.tables import runs

    async with open_client(home, settings) as using:
        run_id = await using.database.read(lambda tx: full_id(tx, runs, "run", ending))
        changes = await using.database.read(lambda tx: changed_inputs(tx, home, run_id, given))
        await using.service.retry(run_id, changes)
        documents = await using.follow([run_id], quiet=as_json)
        await say_documents(using.database, home, documents, as_json=as_json)


@app.command()
def cancel(
    run: RunArgument,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "cancelled by a person",
    home: HomeOption = None,
) -> None:
    """End a run at once. A call under way stays unknown until someone says what came of it."""
    from colleague.cli.output import TICK, say
    from colleague.cli.working import with_client

    done = with_client(home, lambda using: using.service.cancel(run, note))
    say(f"{TICK} run {run} is cancelled" if done else f"run {run} had ended already")
    if not done:
        raise typer.Exit(1)
