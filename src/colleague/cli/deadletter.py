"""colleague deadletter: runs that failed for the last time and wait for a person."""

from __future__ import annotations

from typing import Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

app = typer.Typer(no_args_is_help=True, help="Dead letters: runs that failed for good and wait for a person.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of a run's id.")]


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The dead letters, the oldest first."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.ids import short
    from colleague.store.overview import dead_letters
    from colleague.store.report import brief_document

    found = with_database(home, lambda database: database.read(dead_letters))
    documents = [brief_document(run) for run in found]
    if as_json:
        say_json(documents)
    elif documents:
        rows = [
            (short(d["id"]), d["expert"], d["process"], d["ended_at"], d["error"] or "") for d in documents
        ]
        say_table(("ID", "EXPERT", "PROCESS", "SINCE", "ERROR"), rows)
    else:
        say("There are no dead letters.")


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

    from colleague.cli.output import TICK, say
    from colleague.cli.working import with_hands

    who = getpass.getuser()
    with_hands(home, lambda using: using.operator.drop(run, who))
    say(f"{TICK} {run} is dropped")
