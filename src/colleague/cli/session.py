"""colleague session: conversations, and their trajectories for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

app = typer.Typer(no_args_is_help=True, help="Sessions and their trajectories.")


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Every session, the latest first."""
    from colleague.cli.client import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.report import sessions

    found = with_database(home, lambda database: database.read(sessions))
    if as_json:
        say_json(found)
    elif found:
        rows = [(each["session_key"], str(each["runs"]), each["last_run_at"]) for each in found]
        say_table(("SESSION", "RUNS", "LAST"), rows)
    else:
        say("There are no sessions.")


@app.command("export-trajectory")
def export_trajectory(
    session: Annotated[str, typer.Option("--session", help="The session's key.")] = "agent:main:main",
    output: Annotated[
        Path | None, typer.Option("--output", help="Write to this file instead of stdout.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """A session as JSON lines: runs, messages, calls and approvals, in order."""
    import json

    from colleague.cli.client import opened, with_database
    from colleague.cli.output import note, say
    from colleague.errors import NotFound
    from colleague.experts.runs.report import trajectory_report
    from colleague.files import write_atomic

    place, _ = opened(home)
    records = with_database(
        home, lambda database: database.read(lambda tx: trajectory_report(tx, place, session))
    )
    if not records:
        raise NotFound(f"there is no session {session!r}", hint="see them with: colleague session list")
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    if output is None:
        say(text)
    else:
        write_atomic(output, text + "\n", mode=0o600)
        note(f"{len(records)} records in {output}")
