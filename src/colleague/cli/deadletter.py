"""colleague deadletter: runs that failed for the last time and wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption
from colleague.cli.shell_completion import complete_dead_letter

if TYPE_CHECKING:
    from colleague.store.paging import Page
    from colleague.store.run import Run
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Dead letters: runs that failed for good and wait for a person.")

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The ending of a run's id.", autocompletion=complete_dead_letter)
]


@app.command("list")
def list_(
    limit: LimitOption = 200, after: AfterOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """The dead letters, the oldest first."""
    from colleague.cli.client import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.cli.times import moment
    from colleague.run_document import short
    from colleague.store.overview import count_dead_letters, dead_letters
    from colleague.store.report import brief_document
    from colleague.store.tables import runs

    def read(tx: Tx, start: str | None) -> Page[Run]:
        return dead_letters(tx, limit=limit, after=start)

    work = page_reader(runs, "run", after, read, count_dead_letters)
    page, total = with_database(home, lambda database: database.read(work))
    documents = [brief_document(run) for run in page.items]
    if as_json:
        say_json(documents)
    elif documents:
        rows = [
            (short(d["id"]), d["expert"], d["process"], moment(d["ended_at"]), d["error"] or "")
            for d in documents
        ]
        say_table(("ID", "EXPERT", "PROCESS", "SINCE", "ERROR"), rows)
    elif not after:
        say("There are no dead letters.")
    note_more(page, total, "colleague deadletter list")


@app.command()
def show(run: IdArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one dead letter."""
    from colleague.cli.run import show as show_run

    show_run(run, home, as_json)


@app.command()
def retry(
    run: IdArgument,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="Change an input; repeatable.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try again: the same run goes on, with the package that is installed now."""
    from colleague.cli.run import retry as retry_run

    retry_run(run, inputs, home, as_json)


@app.command()
def drop(run: IdArgument, home: HomeOption = None) -> None:
    """Let it be: it stays in the history as abandoned."""
    import getpass

    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    who = getpass.getuser()
    with_client(home, lambda using: using.service.drop(run, who))
    say(f"{TICK} {run} is dropped")
