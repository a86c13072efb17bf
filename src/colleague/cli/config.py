"""colleague config ...: what the settings say, and what of it is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import SettingsWarning
    from colleague.config.status import KeyStatus

app = typer.Typer(no_args_is_help=True, help="Check and see the settings.")


@app.command()
def check(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Restrictions that keep everything from starting, keys without effect yet, and unknown keys."""
    from colleague.cli.output import say_json
    from colleague.config import load_settings
    from colleague.config.status import unenforced, without_effect
    from colleague.home import Home
    from colleague.plugins.report import served_channels

    place = Home.find(home)
    settings = load_settings(place)
    refused, idle = unenforced(settings), without_effect(settings, served_channels(place, settings))
    if as_json:
        document = {
            "ok": not refused,
            "files": [str(file) for file in settings.files],
            "restricts": [_key_json(each) for each in refused],
            "not_yet": [_key_json(each) for each in idle],
            "warnings": [_warning_json(each) for each in settings.warnings],
        }
        say_json(document)
    else:
        _say_check(refused, idle, settings.warnings)
    if refused:
        raise typer.Exit(1)


def _key_json(found: KeyStatus) -> dict[str, Any]:
    place = found.place
    return {
        "key": found.key,
        "file": str(place.file) if place else None,
        "line": place.line if place else None,
        "message": f"{found.key} {found.reason}",
        "hint": found.cure,
    }


def _warning_json(warning: SettingsWarning) -> dict[str, Any]:
    return {
        "file": str(warning.file),
        "line": warning.line,
        "message": warning.message,
        "hint": warning.hint,
    }


def _say_check(
    refused: list[KeyStatus], idle: list[KeyStatus], warnings: tuple[SettingsWarning, ...]
) -> None:
    from colleague.cli.output import TICK, mark, say, say_hint

    if refused:
        say(f"{mark(False)} Nothing starts with these: they restrict agents, and nothing enforces them yet.")
        for each in refused:
            say_hint(f"  {each.where}{each.key}\n    {each.cure}")
    if idle:
        say("! These have no effect. They may stay in the file; do not rely on them.")
        for each in idle:
            say(f"  {each}")
            say_hint(f"    {each.cure}")
    if warnings:
        say("! These are not known, or count for nothing.")
        for warning in warnings:
            say_hint(f"  {warning}" + (f"\n    {warning.hint}" if warning.hint else ""))
    if not (refused or idle or warnings):
        say(f"{TICK} every key that is set has an effect")


@app.command()
def show(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is not set, with its default.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The settings that count, and where each value comes from. Secrets are not shown."""
    import json
    from dataclasses import asdict

    from colleague.cli.client import opened
    from colleague.cli.output import note, say_json, say_table
    from colleague.config.effective import effective_values

    _, settings = opened(home)
    found = [each for each in effective_values(settings) if everything or each.source != "default"]
    if as_json:
        say_json([asdict(each) for each in found])
        return
    if not found:
        note("nothing is set; the defaults count (colleague config show --all)")
        return
    rows = [(each.key, json.dumps(each.value, ensure_ascii=False), each.source) for each in found]
    say_table(("KEY", "VALUE", "FROM"), rows)
