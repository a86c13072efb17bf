"""colleague run: what was done, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home
    from colleague.run_document import RunDocument
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
    from colleague.cli.client import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.run_document import short
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
                d["created_at"] or "",
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
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.cli.run_text import run_lines

    document = with_client(home, lambda using: using.service.run(run), looks=True)
    if as_json:
        say_json(document)
        return
    for line in run_lines(document):
        say(line)


@app.command()
def watch(run: RunArgument, home: HomeOption = None) -> None:
    """Follow a run until it ends or waits for a person, whoever works on it."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    end_with(with_client(home, lambda using: _watch(using, run), looks=True))


async def _watch(using: Client, ending: str) -> int:
    from colleague.cli.run_view import say_documents

    run_id = (await using.service.run(ending))["id"]
    return await say_documents(using.service, await using.follow([run_id], quiet=False), as_json=False)


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
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    end_with(with_client(home, lambda using: _retry(using, run, inputs or [], as_json)))


async def _retry(using: Client, ending: str, given: list[str], as_json: bool) -> int:
    from colleague.cli.run_view import say_documents

    document = await using.service.run(ending)
    run_id = await using.service.retry(document["id"], _changes(using.home, document, given))
    documents = await using.follow([run_id], quiet=as_json, before=[document])
    return await say_documents(using.service, documents, as_json=as_json)


def _changes(home: Home, document: RunDocument, given: list[str]) -> dict[str, Any]:
    """`name=value` pairs as the process of this run types them."""
    from colleague.experts.expert import find_expert
    from colleague.experts.runs.inputs import find_process, parse_inputs

    if not given:
        return {}
    package = find_expert(home, document["expert"]).load()
    return parse_inputs(find_process(package, document["process"]), given)


@app.command()
def cancel(
    run: RunArgument,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "cancelled by a person",
    home: HomeOption = None,
) -> None:
    """End a run at once. A call under way stays unknown until someone says what came of it."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    done = with_client(home, lambda using: using.service.cancel(run, note))
    say(f"{TICK} run {run} is cancelled" if done else f"run {run} had ended already")
    if not done:
        raise typer.Exit(1)
