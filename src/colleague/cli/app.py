"""Every command in one place. Only the module of the command that was typed is imported."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated

import typer

from colleague import __version__
from colleague.cli.options import HomeOption
from colleague.cli.output import say

GROUPS = (
    *("expert", "trigger", "event", "run", "approval", "grant", "deadletter", "learning", "state"),
    *("session", "mcp", "model", "config", "db"),
)
COMMANDS = {
    "demo": "demo",
    "init": "init",
    "status": "status",
    "doctor": "doctor",
    "serve": "serve",
    "worker": "serve",
    "agent": "agent",
    "approve": "approval",
    "reject": "approval",
    "respond": "approval",
    "done": "approval",
    "not-done": "approval",
    "resolve": "approval",
}


def build_app(typed: str = "") -> typer.Typer:
    """The whole app; or, when `typed` is the name of a command, only as much of it as that needs."""
    app = typer.Typer(
        name="colleague",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        help="Run AI experts that never lose work in silence.",
    )
    app.callback()(root)
    known = typed in GROUPS or typed in COMMANDS
    for name, module in COMMANDS.items():
        if not known or name == typed:
            app.command(name)(getattr(import_module(f"colleague.cli.{module}"), name.replace("-", "_")))
    for name in GROUPS:
        if not known or name == typed:
            app.add_typer(import_module(f"colleague.cli.{name}").app, name=name)
    return app


def _version(asked: bool) -> None:
    if asked:
        say(f"colleague {__version__}")
        raise typer.Exit


def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    home: HomeOption = None,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Run AI experts that never lose work in silence."""
    if home is not None:
        os.environ["OPENCLAW_STATE_DIR"] = str(home)
