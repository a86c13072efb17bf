"""colleague grant: standing permissions."""

from __future__ import annotations

from typing import Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

app = typer.Typer(no_args_is_help=True, help="Permissions that spare a question for a while.")


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The grants, the newest first."""
    from dataclasses import asdict

    from colleague.cli.hosting import with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.store.grants import all_grants
    from colleague.store.ids import short

    found = with_database(home, lambda database: database.read(all_grants))
    if as_json:
        say_json([asdict(grant) for grant in found])
    elif found:
        rows = [
            (short(g.id), g.expert, g.operation, "run" if g.run_id else "any run", str(g.uses)) for g in found
        ]
        say_table(("ID", "EXPERT", "OPERATION", "FOR", "USES"), rows)
    else:
        say("There are no grants.")


@app.command()
def revoke(
    grant: Annotated[str, typer.Argument(metavar="ID", help="The ending of a grant's id.")],
    home: HomeOption = None,
) -> None:
    """End a grant."""
    from colleague.cli.output import TICK, say
    from colleague.cli.working import with_hands

    with_hands(home, lambda using: using.operator.revoke(grant))
    say(f"{TICK} grant {grant} is revoked")
