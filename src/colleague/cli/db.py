"""colleague db: look at the database, copy it, put a copy back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption, YesOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

app = typer.Typer(no_args_is_help=True, help="The database: check it, back it up, restore it.")


@app.command()
def check(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Read every page of the database; say what is wrong with it and what to do."""
    from dataclasses import asdict

    from colleague.cli.output import CROSS, TICK, say, say_json
    from colleague.store.backup import check_home

    place, _ = _on_sqlite(home, "psql, or your provider's own checks")
    checked = check_home(place)
    if as_json:
        say_json(asdict(checked))
    else:
        size = f"{checked.size / 1_048_576:.1f} MB, WAL {checked.wal_size / 1_048_576:.1f} MB"
        say(f"{CROSS if checked.problems else TICK} {checked.file}: version {checked.version}, {size}")
        for problem in checked.problems:
            say(f"  {problem}")
    if checked.problems:
        raise typer.Exit(1)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE when it exists.")] = False,
    home: HomeOption = None,
) -> None:
    """Copy the database as it is at one moment, also while runs go on."""
    from colleague.cli.output import TICK, say
    from colleague.store.backup import back_up

    place, _ = _on_sqlite(home, "pg_dump --format=custom --file FILE URL")
    made = back_up(place.database_file, file.expanduser().absolute(), force=force)
    say(f"{TICK} {file}: {made.size / 1_048_576:.1f} MB, checked")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that colleague db backup made.")],
    home: HomeOption = None,
) -> None:
    """Put a copy back. The database before it is kept aside; nothing may work on the home meanwhile."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say
    from colleague.store import backup

    place, _ = _on_sqlite(home, "pg_restore --clean --dbname URL FILE")
    with place.working(wait_seconds=0):
        aside = backup.restore(place, file.expanduser().absolute())
    record_change(place, "database.restore", str(file), aside=str(aside or ""))
    say(f"{TICK} {file} is the database of {place.root} now")
    if aside is not None:
        say(f"  the one before it is kept: {aside}")


@app.command()
def new(home: HomeOption = None, yes: YesOption = False) -> None:
    """Go on although the database is gone: with a new one, or with the other one that is there."""
    from colleague.cli.change_record import record_change
    from colleague.cli.client import opened
    from colleague.cli.output import TICK, confirm, say

    place, settings = opened(home)
    confirm("Every run, approval and schedule of the old database stays lost. Go on?", yes=yes)
    with place.working(wait_seconds=0):
        forget_database(place, settings)
    record_change(place, "database.new", "")
    say(f"{TICK} the next command begins with the database that is there, or with a new one")


def forget_database(home: Home, settings: Settings) -> None:
    """The home takes whatever database it meets next. An emptied file is kept aside."""
    import os

    from colleague.store.backup import set_aside
    from colleague.store.identity import key_of, remember_identity
    from colleague.store.open_database import database_url

    url = database_url(settings, os.environ)
    file = home.database_file
    if url is None and (not file.exists() or file.stat().st_size == 0):
        set_aside(home)
    remember_identity(home, key_of(url), None)


def _on_sqlite(home: Path | None, instead: str) -> tuple[Home, Settings]:
    from colleague.cli.client import opened
    from colleague.errors import UsageError

    place, settings = opened(home)
    if settings.experts.database is not None:
        raise UsageError("experts.database is PostgreSQL, which has its own tools", hint=f"use {instead}")
    return place, settings
