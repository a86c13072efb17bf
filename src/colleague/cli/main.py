"""The `colleague` command."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from colleague import __version__
from colleague.cli import agent, approval, demo, expert, grant, init, mcp, model, run, session
from colleague.cli.output import note, say, say_error
from colleague.errors import ColleagueError

app = typer.Typer(
    name="colleague",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Run AI experts that never lose work in silence.",
)
app.command("demo")(demo.demo)
app.command("init")(init.init)
app.add_typer(expert.app, name="expert")
app.command("agent")(agent.agent)
app.add_typer(approval.app, name="approval")
app.command("approve")(approval.approve)
app.command("reject")(approval.reject)
app.command("respond")(approval.respond)
app.command("done")(approval.done)
app.command("not-done")(approval.not_done)
app.command("resolve")(approval.resolve)
app.add_typer(grant.app, name="grant")
app.add_typer(run.app, name="run")
app.add_typer(session.app, name="session")
app.add_typer(mcp.app, name="mcp")
app.add_typer(model.app, name="model")


def _version(asked: bool) -> None:
    if asked:
        say(f"colleague {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run AI experts that never lose work in silence."""


def main() -> NoReturn:
    """Runs the command; an error is one sentence, with a traceback only after --debug."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(arguments, prog_name="colleague")
    except ColleagueError as error:
        if debug:
            raise
        say_error(error)
        sys.exit(error.exit_code)
    except Exception as error:
        if debug:
            raise
        note(f"✗ {_told(error)}")
        sys.exit(1)
    sys.exit(0)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"unexpected {type(error).__name__}: {error}\n  run the command again with --debug to see where"
