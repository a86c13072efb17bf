"""colleague mcp login and logout: a person's login at an MCP server over HTTP."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from colleague.cli.change_record import record_change
from colleague.cli.output import TICK, note, plain, say, say_hint, say_json
from colleague.errors import ColleagueError
from colleague.mcp.state_text import state_words

if TYPE_CHECKING:
    from colleague.config.settings import McpServer
    from colleague.home import Home
    from colleague.mcp.redirect_listener import RedirectListener

LOGGED_IN = "logged in"
NEEDS_LOGIN = state_words("needs_login")
_READ_BYTES = 65_536


def login_state(home: Home, name: str, server: McpServer) -> str:
    """What is known of a server's login without asking it: logged in, needs a login, or nothing."""
    from colleague.mcp.login_record import LoginStore

    record = LoginStore.of(home.state / "mcp", name).any() if server.url else None
    if record is None:
        return ""
    if record.problem:
        return NEEDS_LOGIN
    return LOGGED_IN if record.access else ""


def log_in(home: Home, name: str, server: McpServer, *, browser: bool, as_json: bool) -> None:
    from colleague.mcp.login import LoginScreen
    from colleague.mcp.login import log_in as log_in_at

    screen = LoginScreen(
        visit=lambda address, issuer: _visit(address, issuer, name, browser=browser),
        note=note,
        listens=lambda listener: None if browser else _read_pasted(listener),
    )
    tools = asyncio.run(log_in_at(home, name, server, os.environ, screen))
    if tools is not None:
        record_change(home, "server.login", name)
    if as_json:
        say_json({"server": name, "logged_in": tools is not None, "tools": tools})
    elif tools is None:
        say(f"{name} does not ask for a login; it can be used as it is.")
    else:
        say(f"{TICK} logged in at {name}: {tools} tool{'' if tools == 1 else 's'}")
        say_hint("A running gateway uses it from its next call on.")


def _visit(address: str, issuer: str, name: str, *, browser: bool) -> None:
    import threading
    import webbrowser

    note(f"{name} sends the login to {plain(issuer or address)}")
    if browser:
        # Some browsers end only with their window, and the page that they come back to is ours.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        note(f"Log in with the browser that opens. If none does: {plain(address)}")
    else:
        note(f"Log in with a browser at: {plain(address)}")
        note("On another machine: log in, then paste here the address that the browser ends at.")


def _read_pasted(listener: RedirectListener) -> None:
    """A line on stdin is the address that a browser elsewhere could not open."""
    loop, rest = asyncio.get_running_loop(), b""

    def read() -> None:
        nonlocal rest
        came = os.read(0, _READ_BYTES)
        *lines, rest = (rest + came).split(b"\n")
        if not came:
            loop.remove_reader(0)
        for line in filter(None, map(bytes.strip, lines)):
            listener.take(line.decode(errors="replace"))

    try:
        loop.add_reader(0, read)
    except (OSError, ValueError):
        return


def log_out(home: Home, name: str, server: McpServer | None, *, as_json: bool) -> None:
    from colleague.mcp.login import log_out as log_out_of

    done = asyncio.run(log_out_of(home, name, server, os.environ))
    if done:
        record_change(home, "server.logout", name)
    if as_json:
        say_json({"server": name, "logged_out": bool(done), "detail": done})
    elif done:
        say(f"{TICK} logged out of {name}: {done}")
    else:
        raise ColleagueError(f"there is no login at {name}", hint="see colleague mcp list")
