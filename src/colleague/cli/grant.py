"""colleague grant: standing permissions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from colleague.store.grants import Grant
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Permissions that spare a question for a while.")

GrantArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of a grant's id.")]


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The grants, the newest first: what each covers, and whether it counts now."""
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.grants import all_grants

    found = grant_documents(home, all_grants)
    if as_json:
        say_json(found)
    elif found:
        columns = ("ID", "EXPERT", "OPERATION", "SERVER", "ONLY", "FOR", "UNTIL", "STATE", "USES")
        say_table(columns, map(_row, found))
    else:
        say("There are no grants.")


def _row(grant: dict[str, Any]) -> tuple[str, ...]:
    import json

    from colleague.cli.output import plain
    from colleague.cli.times import moment
    from colleague.run_document import short

    wanted = grant["only"].items()
    only = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in wanted)
    state = f"{grant['state']}: {grant['reason']}" if grant["state"] == "lapsed" else grant["state"]
    return (
        short(grant["id"]),
        grant["expert"],
        grant["operation"],
        grant["server"] or "",
        plain(only) or "any arguments",
        "run" if grant["run_id"] else "any run",
        moment(grant["expires_at"]),
        state,
        str(grant["uses"]),
    )


@app.command()
def show(grant: GrantArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """One grant: what it covers, and why it does not count if it does not."""
    import json

    from colleague.cli.output import plain, say, say_json
    from colleague.cli.times import moment
    from colleague.store.grants import get_grant
    from colleague.store.lookup import full_id
    from colleague.store.tables import grants

    [document] = grant_documents(home, lambda tx: [get_grant(tx, full_id(tx, grants, "grant", grant))])
    if as_json:
        say_json(document)
        return
    for key, value in document.items():
        if value not in (None, "", {}):
            shown = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
            shown = moment(shown) if key.endswith("_at") else shown
            say(f"{key:14} {plain(shown)}")


def grant_documents(home: Path | None, find: Callable[[Tx], list[Grant]]) -> list[dict[str, Any]]:
    import os

    from colleague.cli.client import opened, with_database
    from colleague.experts.grant_report import GrantReports
    from colleague.store.grants import ended_runs

    place, settings = opened(home)

    def work(tx: Tx) -> list[dict[str, Any]]:
        found = find(tx)
        reports = GrantReports(place, settings, os.environ, tx.now, ended_runs(tx, found))
        return [reports.document(each) for each in found]

    return with_database(home, lambda database: database.read(work))


@app.command()
def revoke(grant: GrantArgument, home: HomeOption = None) -> None:
    """End a grant."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    with_client(home, lambda using: using.service.revoke(grant))
    say(f"{TICK} grant {grant} is revoked")
