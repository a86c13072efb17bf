"""colleague run: what was done, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.dry_run import DryRunCommand, DryRunOption, dryness
from colleague.cli.options import AfterOption, HomeOption, JsonOption, LimitOption, ModelOption, WaitOption
from colleague.cli.shell_completion import complete_expert, complete_run

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.cli.client import Client
    from colleague.run_document import RunBrief
    from colleague.runtime.requests import ForkRequest
    from colleague.store.paging import Page
    from colleague.store.run import Run
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Runs: what was done, and what goes on.")

StatusOption = Annotated[
    str,
    typer.Option(
        "--status",
        metavar="WORD[,WORD]",
        help="Only these: queued, running, waiting, retrying, done; or by outcome: completed, failed, "
        "dead_letter, abandoned, cancelled.",
    ),
]
ExpertOption = Annotated[
    str,
    typer.Option(
        "--expert", metavar="NAME", help="Only the runs of this expert.", autocompletion=complete_expert
    ),
]
SinceOption = Annotated[
    str, typer.Option("--since", metavar="2h|DATE|TIME", help="Only what was accepted since then.")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The ending of a run's id.", autocompletion=complete_run)
]


@app.command("list")
def list_(
    status: StatusOption = "",
    expert: ExpertOption = "",
    since: SinceOption = "",
    limit: LimitOption = 50,
    after: AfterOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The runs, the newest first."""
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.client import with_database
    from colleague.cli.output import note, say, say_json, say_table
    from colleague.cli.pages import note_more, page_reader
    from colleague.store.report import brief_document
    from colleague.store.run_filter import RunFilter, filter_words, since_ms
    from colleague.store.tables import runs

    words = filter_words(status)

    def wanted(tx: Tx) -> RunFilter:
        return RunFilter(words, expert, since_ms(since, tx.now))

    def read(tx: Tx, start: str | None) -> Page[Run]:
        return wanted(tx).page(tx, limit=limit, after=start)

    work = page_reader(runs, "run", after, read, lambda tx: wanted(tx).count(tx))
    page, total = with_database(home, lambda database: database.read(work))
    documents = [brief_document(run) for run in page.items]
    if not documents and expert:
        _require_known(home, expert)
    if as_json:
        say_json(documents)
    elif documents:
        say_table(("ID", "EXPERT", "PROCESS", "STATUS", "ACCEPTED", "ERROR"), map(_row, documents))
        for line in abandoned_lines(home, documents):
            note(line)
    elif not after:
        say("There are no such runs." if words or expert or since else "There are no runs.")
    note_more(page, total, _again(status, expert, since))


def _row(document: RunBrief) -> tuple[str, ...]:
    from colleague.cli.times import moment
    from colleague.cli.trouble_text import list_word, trouble_line
    from colleague.run_document import short

    trouble = trouble_line(document["trouble"]) if document["trouble"] else ""
    return (
        short(document["id"]),
        document["expert"],
        document["process"],
        list_word(document),
        moment(document["created_at"]),
        document["error"] or trouble,
    )


def _again(status: str, expert: str, since: str) -> str:
    """The command that was typed, for the next page."""
    import shlex

    options = (("--status", status), ("--expert", expert), ("--since", since))
    given = [f" {name} {shlex.quote(value)}" for name, value in options if value]
    return "colleague run list" + "".join(given)


def _require_known(home: Path | None, expert: str) -> None:
    """Runs outlive their expert; one that has neither runs nor a package is a slip. Raises UsageError."""
    from colleague.cli.client import opened, with_database
    from colleague.errors import UsageError
    from colleague.experts.expert import discover
    from colleague.main_names import MAIN_AGENT
    from colleague.store.run_filter import RunFilter
    from colleague.suggest import did_you_mean

    installed = [each.name for each in discover(opened(home)[0])]
    ran = with_database(home, lambda db: db.read(lambda tx: RunFilter(expert=expert).page(tx, limit=1)))
    if expert not in (*installed, MAIN_AGENT) and not ran.items:
        hint = did_you_mean(expert, installed) or "see them with: colleague expert list"
        raise UsageError(f"there is no expert {expert!r}", hint=hint)


@app.command()
def show(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one run: steps, attempts, calls, approvals, delivery, cost."""
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json
    from colleague.cli.run_text import run_lines
    from colleague.cli.typed import with_home

    document = with_client(home, lambda using: using.runs.run(run), looks=True)
    if as_json:
        say_json(document)
        return
    head, *rest = run_lines(document)
    for line in (head, *(f"  {with_home(each)}" for each in abandoned_lines(home, [document])), *rest):
        say(line)


@app.command()
def watch(run: RunArgument, home: HomeOption = None) -> None:
    """Follow a run until it ends or waits for a person, whoever works on it. Ctrl-C ends the watching."""
    from colleague.cli.abandoned import abandoned_lines
    from colleague.cli.client import with_client
    from colleague.cli.output import note
    from colleague.cli.run_view import end_with

    document = with_client(home, lambda using: using.runs.run(run), looks=True)
    for line in abandoned_lines(home, [document]):
        note(line)
    end_with(with_client(home, lambda using: _watch(using, run), looks=True))


async def _watch(using: Client, ending: str) -> int:
    from colleague.cli.run_view import say_documents

    run_id = (await using.runs.run(ending))["id"]
    return await say_documents(using.runs, await using.follow([run_id], quiet=False), as_json=False)


@app.command()
def resume(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Go on with a run that nobody works on, in this process. With a gateway it is the gateway's."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    end_with(with_client(home, lambda using: _resume(using, run, as_json)))


async def _resume(using: Client, ending: str, as_json: bool) -> int:
    from colleague.cli.output import note
    from colleague.cli.resume import require_free, require_open
    from colleague.cli.run_view import say_documents
    from colleague.run_document import short
    from colleague.runtime.gateway_file import gateway_runs

    document = await using.runs.run(ending)
    require_open(document)
    await require_free(using.service, document)
    if gateway_runs(using.home):
        shown, resumed = short(document["id"]), await using.service.resume_run(document["id"])
        does = "begins the next attempt now" if resumed else "goes on with it"
        note(f"the gateway has run {shown} and {does}; watch: colleague run watch {shown}")
        return 0
    documents = await using.follow([document["id"]], quiet=as_json)
    return await say_documents(using.runs, documents, as_json=as_json)


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
    from colleague.experts.runs.inputs import changed_inputs

    document = await using.runs.run(ending)
    run_id = await using.service.retry(document["id"], changed_inputs(using.home, document, given))
    documents = await using.follow([run_id], quiet=as_json, before=[document])
    return await say_documents(using.runs, documents, as_json=as_json)


@app.command(cls=DryRunCommand)
def fork(
    run: RunArgument,
    from_step: Annotated[int, typer.Option("--from-step", metavar="N", help="The step to begin at, from 1.")],
    model: ModelOption = "",
    dry_run: DryRunOption = None,
    wait: WaitOption = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin a new run at a step of this one, which stays as it is: same inputs, same package version.

    What was done before that step is taken over, and not done again. From there on everything is done
    anew, and a person is asked anew. A step begins when the one before it is marked. State files are as
    they are now, not as they were then. The fork of a dry run is a dry run."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with
    from colleague.runtime.requests import ForkRequest

    asked = ForkRequest(run, from_step, model, dryness(dry_run))
    end_with(with_client(home, lambda using: _fork(using, asked, wait, as_json)))


async def _fork(using: Client, asked: ForkRequest, wait: bool, as_json: bool) -> int:
    from colleague.cli.expert_run import say_accepted
    from colleague.cli.run_view import say_documents

    accepted = await using.service.fork(asked)
    if not wait:
        say_accepted(accepted, as_json)
        return 0
    documents = await using.follow([str(accepted.run_id)], quiet=as_json)
    return await say_documents(using.service, documents, as_json=as_json)


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
