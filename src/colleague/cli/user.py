"""colleague user: people who use the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.person_document import SignInLink

app = typer.Typer(no_args_is_help=True, help="People who use the page of the gateway.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, dots and dashes.")]


@app.command()
def add(
    name: NameArgument,
    role: Annotated[
        str, typer.Option("--role", help="viewer looks, approver decides, admin does all.")
    ] = "approver",
    expert: Annotated[
        list[str] | None,
        typer.Option("--expert", help="An approver decides for these experts only; repeatable."),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add somebody, or change their role. Prints a link that signs them in once."""
    from colleague.cli.client import with_client

    _show(with_client(home, lambda using: using.service.add_person(name, role, expert or [])), home, as_json)


@app.command()
def link(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Another link to sign in once, for somebody who is there."""
    from colleague.cli.client import with_client

    _show(with_client(home, lambda using: using.service.link_person(name)), home, as_json)


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Who may use the page, and in how many browsers each is signed in."""
    from colleague.cli.client import with_client
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.times import moment

    found = with_client(home, lambda using: using.service.people())
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (
                each["name"],
                each["role"],
                ", ".join(each["experts"] or ["all"]),
                moment(each["created_at"]),
                str(each["browsers"]),
            )
            for each in found
        ]
        say_table(("NAME", "ROLE", "EXPERTS", "ADDED", "BROWSERS"), rows)
    else:
        say("Nobody has been added. Whoever has the token of the gateway can use the page.")


@app.command("sign-out")
def sign_out(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Or operator, for the gateway's token.")],
    home: HomeOption = None,
) -> None:
    """Sign somebody out everywhere. They may sign in again with another link."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    count = with_client(home, lambda using: using.service.sign_out_person(name))
    say(f"{TICK} {name} is signed out of {count} browser{'' if count == 1 else 's'}")


@app.command()
def remove(name: NameArgument, home: HomeOption = None) -> None:
    """Sign somebody out everywhere, for good. What they decided keeps their name."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    with_client(home, lambda using: using.service.remove_person(name))
    say(f"{TICK} {name} is removed and signed out everywhere")


def _show(made: SignInLink, home: Path | None, as_json: bool) -> None:
    from colleague.cli.link_text import show_link

    show_link(made["path"], f"{made['name']} signs in with it once, within a day", home, as_json)
