"""colleague session: conversations, and their trajectories for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Sessions and their trajectories.")

_AGENT = "agent:main:"


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Every session, the latest first."""
    from colleague.cli.client import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.times import moment
    from colleague.store.report import sessions

    found = with_database(home, lambda database: database.read(sessions))
    if as_json:
        say_json(found)
    elif found:
        rows = [(each["session_key"], str(each["runs"]), moment(each["last_run_at"])) for each in found]
        say_table(("SESSION", "RUNS", "LAST"), rows)
    else:
        say("There are no sessions.")


@app.command("export-trajectory")
def export_trajectory(
    session: Annotated[
        str, typer.Argument(metavar="[KEY|LABEL]", help="A key, or a label such as expert:NAME.")
    ] = "",
    named: Annotated[
        str, typer.Option("--session", "--sessionKey", metavar="KEY|LABEL", help="The same, as an option.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", help="Write to this file instead of stdout.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """A session as JSON lines: runs, messages, calls and approvals, in order."""
    import json

    from colleague.cli.output import note, say
    from colleague.errors import UsageError
    from colleague.files import write_atomic
    from colleague.main_names import MAIN_SESSION

    if session and named and session != named:
        raise UsageError(f"two sessions are named: {session} and {named}", hint="name one of them")
    records = _records(home, session or named or MAIN_SESSION)
    text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    if output is None:
        say(text)
    else:
        write_atomic(output, text + "\n", mode=0o600)
        note(f"{len(records)} records in {output}")


def _records(home: Path | None, name: str) -> list[dict[str, Any]]:
    """Of the first session that goes by this name. Raises NotFound."""
    from colleague.cli.client import opened, with_database
    from colleague.errors import NotFound
    from colleague.experts.runs.redacted_report import trajectory_report

    place, _ = opened(home)

    def work(tx: Tx) -> list[dict[str, Any]]:
        found = (trajectory_report(tx, place, key) for key in _keys(name))
        return next((records for records in found if records), [])

    records = with_database(home, lambda database: database.read(work))
    if not records:
        raise NotFound(f"there is no session {name!r}", hint="see them with: colleague session list")
    return records


def _keys(name: str) -> tuple[str, ...]:
    """What it may be stored as: `expert:sales` and `agent:main:expert:sales` are one session."""
    return name, name.removeprefix(_AGENT), _AGENT + name
