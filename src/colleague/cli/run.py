"""colleague run: what was done, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.paging import Page
    from colleague.store.run import Run
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Runs: what was done, and what goes on.")

RunArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of a run's id.")]


@app.command("list")
def list_(
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The runs, the newest first."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
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
                d["outcome"] or d["status"],
                d["created_at"],
                d["error"] or "",
            )
            for d in documents
        ]
        say_table(("ID", "EXPERT", "PROCESS", "STATUS", "ACCEPTED", "ERROR"), rows)
    elif not after:
        say("There are no runs.")
    note_more(page, total, "colleague run list")


@app.command()
def show(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one run: steps, attempts, calls, approvals, delivery, cost."""
    from colleague.cli.output import say, say_json
    from colleague.cli.run_text import run_lines

    document = _report(home, run)
    if as_json:
        say_json(document)
        return
    for line in run_lines(document):
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
    """Follow a run until it ends or waits for a person, whoever works on it."""
    import time

    from colleague.cli.output import note, say
    from colleague.cli.run_text import end_lines, progress_lines

    shown: set[str] = set()
    while True:
        document = _report(home, run)
        for key, line in progress_lines(document):
            if key not in shown:
                shown.add(key)
                note(line)
        if document["status"] in ("done", "waiting"):
            break
        time.sleep(0.3)
    for line in end_lines(document):
        say(line)
    if document["status"] == "waiting":
        raise typer.Exit(4)
    if document["outcome"] != "completed":
        raise typer.Exit(1)


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
    import asyncio

    from colleague.cli.hosting import opened
    from colleague.cli.run_view import end_with

    place, settings = opened(home)
    asyncio.run(_retry(place, settings, run, inputs or [], as_json))
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
