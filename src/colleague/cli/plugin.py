"""colleague plugin: code of others that runs in this process, once a person enabled it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

app = typer.Typer(no_args_is_help=True, help="Plugins: code of others, off until you enable it.")


RIGHTS = "It runs with all rights of Colleague. The yes is to the files of {path} as they are now."


def complete_plugin(incomplete: str) -> list[str]:
    from colleague.home import Home
    from colleague.plugins.discovery import find_plugins

    return [name for name in find_plugins(Home.find()) if name.startswith(incomplete)]


PluginArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A plugin.", autocompletion=complete_plugin)
]


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The plugins that are there: whether each counts, what it added, and what went wrong in it."""
    from colleague.cli.output import say_hint, say_json, say_table

    place, settings = _opened(home)
    found = documents(place, settings)
    if as_json:
        say_json(found)
    elif found:
        say_table(("NAME", "STATUS", "KIND", "ADDS"), map(_row, found))
        for each in found:
            _say_problems(each)
    else:
        say_hint(f"There are no plugins. One is a folder {place.plugins}/NAME with a plugin.py in it.")


def documents(home: Home, settings: Settings) -> list[dict[str, Any]]:
    """As `plugin list --json` shows them."""
    from colleague.plugins.report import plugin_documents

    plugins = settings.plugins
    found = plugin_documents(
        home, frozenset(name for name, each in plugins.entries.items() if not each.enabled)
    )
    return found if plugins.enabled else [_off(each) for each in found]


def _off(document: dict[str, Any]) -> dict[str, Any]:
    return document | ({"status": "off by settings"} if document["status"] == "on" else {})


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    from colleague.cli.output import plain

    return (plain(document["name"]), document["status"], document["kind"] or "", plain(_added(document)))


def _added(document: dict[str, Any]) -> str:
    from colleague.plugins.report import KINDS

    named = [(kind.replace("_", " "), document[kind]) for kind in KINDS if document[kind]]
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in named)


def _say_problems(document: dict[str, Any]) -> None:
    from colleague.cli.output import note

    name = document["name"]
    if document["status"] == "changed":
        note(f"{name} has changed since you enabled it and is not loaded: colleague plugin enable {name}")
    for each in document["problems"]:
        times = f" ({each['count']} times)" if each["count"] > 1 else ""
        note(f"{name}, {each['place']}: {each['message']}{times}")


@app.command()
def enable(name: PluginArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Let a plugin run, as its files are now. It runs in this process and may do all that Colleague may."""
    import asyncio
    import os

    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say, say_hint, say_json
    from colleague.plugins.enabling import enable_plugin

    place, settings = _opened(home)
    problem = asyncio.run(enable_plugin(place, settings, os.environ, name))
    record_change(place, "plugin.enable", name, problem=problem)
    document = next(each for each in documents(place, settings) if each["name"] == name)
    if as_json:
        say_json(document)
    elif not problem:
        say(f"{TICK} {name} is enabled: {_added(document) or 'it adds nothing'}")
        say_hint(RIGHTS.format(path=document["path"]))
    else:
        _say_problems(document)
    _note_gateway(place)
    if problem:
        raise typer.Exit(1)


@app.command()
def disable(name: PluginArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Load a plugin no longer."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say, say_json
    from colleague.plugins.enabling import disable_plugin

    place, settings = _opened(home)
    disable_plugin(place, name)
    record_change(place, "plugin.disable", name)
    if as_json:
        say_json(next((each for each in documents(place, settings) if each["name"] == name), None))
    else:
        say(f"{TICK} {name} is disabled")
    _note_gateway(place)


def _note_gateway(home: Home) -> None:
    from colleague.cli.output import note
    from colleague.runtime.gateway_file import gateway_runs

    if gateway_runs(home):
        note("the gateway that runs has its plugins since its start: start it again for this to count")


def _opened(home: object) -> tuple[Home, Settings]:
    from pathlib import Path

    from colleague.config import load_settings
    from colleague.home import Home

    place = Home.find(home if isinstance(home, Path) else None)
    return place, load_settings(place)
