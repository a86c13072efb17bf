"""colleague init: a home with defaults."""

from __future__ import annotations

from colleague.cli.options import HomeOption, JsonOption


def init(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Make a home with defaults. Safe to run twice: nothing that exists is changed."""
    from colleague.cli.output import TICK, note, say, say_hint, say_json
    from colleague.config import load_settings
    from colleague.experts.home_setup import set_up_home
    from colleague.home import Home

    place = Home.find(home)
    made = set_up_home(place)
    settings = load_settings(place)
    for warning in settings.warnings:
        note(f"warning: {warning}")
    if as_json:
        say_json(
            {"home": str(place.root), "made": made, "warnings": [str(each) for each in settings.warnings]}
        )
        return
    for path in made:
        say(f"{TICK} {path}")
    say(f"{TICK} {place.root} is ready" if made else f"{TICK} {place.root} was ready already")
    say_hint("Next: colleague expert install FOLDER|URL")
