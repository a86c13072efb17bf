"""colleague run: what was done, step by step."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

app = typer.Typer(no_args_is_help=True, help="Runs: what was done, and what goes on.")

RunArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of a run's id.")]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", help="How many, the newest first.")] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The newest runs."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.ids import short
    from colleague.store.report import brief_document, recent_runs

    found = with_database(home, lambda database: database.read(lambda tx: recent_runs(tx, limit=limit)))
    documents = [brief_document(run) for run in found]
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
    else:
        say("There are no runs.")


@app.command()
def show(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one run: attempts, calls, approvals, cost."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import say, say_json
    from colleague.store.lookup import full_id
    from colleague.store.report import run_document
    from colleague.store.tables import runs

    document = with_database(
        home, lambda database: database.read(lambda tx: run_document(tx, full_id(tx, runs, "run", run)))
    )
    if as_json:
        say_json(document)
        return
    for line in _lines(document):
        say(line)


def _lines(document: dict[str, Any]) -> list[str]:
    import json

    state = document["outcome"] or document["status"]
    lines = [f"run {document['id']} of {document['expert']}: {state}"]
    lines += [f"  error: {document['error']}"] if document["error"] else []
    for attempt in document["attempts"]:
        end = attempt["outcome"] or "under way"
        lines.append(
            f"  attempt {attempt['number']}: {attempt['started_at']}, {end} {attempt['error'] or ''}".rstrip()
        )
    for call in document["calls"]:
        arguments = json.dumps(call["arguments"], ensure_ascii=False)[:120]
        lines.append(f"  {call['operation']} ({call['tier']}) {arguments}: {call['status']}")
    if document["waiting_on"]:
        lines.append(f"  waits for: {', '.join(each[-8:] for each in document['waiting_on'])}")
    if document["behind"]:
        lines.append(f"  stands behind {document['behind']} earlier runs")
    usage = document["usage"]
    lines.append(
        f"  {usage['input_tokens']} tokens in, {usage['output_tokens']} out, {usage['cost']:.4f} dollars"
    )
    return [*lines, "", document["narrative"]] if document["narrative"] else lines


@app.command()
def cancel(
    run: RunArgument,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "cancelled by a person",
    home: HomeOption = None,
) -> None:
    """End a run at once. A call under way stays unknown until someone says what came of it."""
    from colleague.cli.hosting import with_database
    from colleague.cli.output import TICK, say
    from colleague.store.cancel import cancel as cancel_run
    from colleague.store.lookup import full_id
    from colleague.store.tables import runs
    from colleague.store.tx import Tx

    def work(tx: Tx) -> bool:
        return cancel_run(tx, full_id(tx, runs, "run", run), note)

    done = with_database(home, lambda database: database.write(work), writes=True)
    say(f"{TICK} run {run} is cancelled" if done else f"run {run} had ended already")
    if not done:
        raise typer.Exit(1)
