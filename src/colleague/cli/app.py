"""Every command in one place. Only the module of the command that was typed is imported."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer
from typer.models import CommandInfo

from colleague import __version__
from colleague.cli.examples import EXAMPLES, START, help_text
from colleague.cli.options import HomeOption
from colleague.cli.output import say
from colleague.home import HOME_VARIABLE

PANELS = {
    "Work": ("expert", "chat", "agent", "trigger", "session", "canvas", "prompt", "tool", "skill", "state"),
    "Watch": ("status", "run", "event", "delivery", "deadletter", "audit", "doctor"),
    "Decide": (
        *("approval", "approve", "reject", "respond", "done", "not-done", "resolve"),
        *("grant", "learning"),
    ),
    "Set up": (
        *("demo", "init", "mcp", "model", "plugin", "config", "user", "serve", "worker", "db"),
        "sandbox",
    ),
}
COMMANDS = {
    "demo": "demo",
    "init": "init",
    "status": "status",
    "doctor": "doctor",
    "serve": "serve",
    "worker": "serve",
    "agent": "agent",
    "chat": "chat.command",
    "prompt": "prompt",
    "approve": "approval",
    "reject": "approval",
    "respond": "approval",
    "done": "approval",
    "not-done": "approval",
    "resolve": "approval",
}
"""The module of each command that stands alone; everything else in a panel is a group."""
GROUPS = tuple(name for names in PANELS.values() for name in names if name not in COMMANDS)


def build_app(typed: str = "", verb: str = "") -> typer.Typer:
    """The whole app; or, when `typed` is the name of a command, only as much of it as that needs.

    `verb` is the word after the name of a group: its other commands are then left out as well."""
    app = typer.Typer(
        name="colleague",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        help="Run AI experts that never lose work in silence.",
        epilog=help_text(START),
    )
    app.callback()(root)
    known = typed in GROUPS or typed in COMMANDS
    for panel, names in PANELS.items():
        for name in names:
            if not known or name == typed:
                _add(app, name, panel, verb)
    return app


def _add(app: typer.Typer, name: str, panel: str, verb: str) -> None:
    if name in COMMANDS:
        function = getattr(import_module(f"colleague.cli.{COMMANDS[name]}"), name.replace("-", "_"))
        app.command(name, rich_help_panel=panel, help=_paragraphs(function), epilog=_examples(name))(function)
        return
    group = _only(import_module(f"colleague.cli.{name}").app, verb)
    for command in group.registered_commands:
        command.help = command.help or _paragraphs(command.callback)
        command.epilog = _examples(f"{name} {_name_of(command)}")
    app.add_typer(group, name=name, rich_help_panel=panel)


def _examples(name: str) -> str | None:
    return help_text(EXAMPLES[name]) if name in EXAMPLES else None


def _paragraphs(command: Callable[..., object] | None) -> str:
    """What a command says of itself, a paragraph a line: the library would break it where the source does."""
    text = inspect.getdoc(command) or ""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _only(group: typer.Typer, verb: str) -> typer.Typer:
    """The group with the one command, if it has it. Each of the others would cost a millisecond or two."""
    found = [each for each in group.registered_commands if verb and _name_of(each) == verb]
    if not found:
        return group
    alone = typer.Typer(no_args_is_help=True, help=group.info.help)
    alone.callback()(_nothing)  # without it, a group of one command would be that command
    alone.registered_commands = found
    return alone


def _name_of(command: CommandInfo) -> str:
    """As the library makes it from a function's name."""
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _nothing() -> None:
    pass


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
        os.environ[HOME_VARIABLE] = str(home)
