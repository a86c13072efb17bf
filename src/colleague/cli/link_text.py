"""A link to the page: with the address of the gateway that runs."""

from __future__ import annotations

from pathlib import Path

from colleague.cli.output import note, say, say_json
from colleague.home import Home
from colleague.runtime.gateway_file import running_gateway


def show_link(path: str, what: str, home: Path | None, as_json: bool) -> None:
    """`what` says what it is good for."""
    running = running_gateway(Home.find(home))
    address = f"{running.url}{path}" if running else None
    if as_json:
        say_json({"path": path, "address": address})
        return
    say(address or f"http://ADDRESS:PORT{path}")
    note(what)
    if running is None:
        note("no gateway runs now; colleague serve prints its address")
