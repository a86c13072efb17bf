"""colleague mcp ...: the MCP servers that experts act with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.config.settings import McpServer
    from colleague.home import Home
    from colleague.mcp.mcp_tool import McpTool
    from colleague.mcp.probe import Probed

app = typer.Typer(no_args_is_help=True, help="Add, list and try MCP servers.")

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def complete_server(incomplete: str) -> list[str]:
    from colleague.config import load_settings
    from colleague.errors import ColleagueError
    from colleague.home import Home

    try:
        known = load_settings(Home.find()).mcp.servers
    except ColleagueError:
        return []
    return [name for name in known if name.startswith(incomplete)]


ServerArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A configured server.", autocompletion=complete_server)
]


@app.command("list")
def list_(
    tools: Annotated[
        bool, typer.Option("--tools", help="Start the enabled servers and list every tool of theirs.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The configured servers, and what the main agent may call of each. Starts none without --tools."""
    from colleague.cli.mcp_access import access_rows, document, say_access
    from colleague.cli.mcp_login import NEEDS_LOGIN
    from colleague.cli.output import note, say_hint, say_json, say_table
    from colleague.mcp.state_text import state_cure

    place, settings = _settings(home)
    held = _held(place, settings)
    probed = (
        [each for each in _run_probe(place, settings, _names(settings, "")) if each.ok] if tools else None
    )
    access = access_rows(place, settings, probed)
    found = [
        _row(place, name, server, name in held) | document(name, access, asked=tools)
        for name, server in settings.mcp.servers.items()
    ]
    if as_json:
        say_json(found)
    elif found:
        columns = ("NAME", "TRANSPORT", "WHERE", "DEMO", "ENABLED", "LOGIN")
        say_table(columns, (tuple(_cell(row[key.lower()]) for key in columns) for row in found))
        say_access(access, asked=tools)
    else:
        say_hint("No MCP servers are configured. Add one with: colleague mcp add NAME -- COMMAND")
    for name in settings.mcp.servers:
        _note_changes(place, name)
    for row in found:
        if row["login"] == NEEDS_LOGIN:
            note(f"{row['name']} {NEEDS_LOGIN}: {state_cure('needs_login', row['name'])}")
    for name in sorted(held):
        note(f"{name} waits for a yes and is not started: colleague mcp accept {name}")


def _note_changes(home: Home, name: str) -> None:
    from colleague.cli.output import note
    from colleague.mcp.tool_record import ToolRecord

    changes = ToolRecord.of(home.state / "mcp", name).changes()
    if changes:
        note(
            f"tools of {name} are not as you accepted them ({'; '.join(changes)}): colleague mcp probe {name}"
        )


def _held(home: Home, settings: Settings) -> frozenset[str]:
    import asyncio

    from colleague.cli.held_servers import servers_on_hold

    return asyncio.run(servers_on_hold(home, settings))


def _row(home: Home, name: str, server: McpServer, held: bool) -> dict[str, Any]:
    from colleague.cli.mcp_login import login_state
    from colleague.mcp.entries import defined_at
    from colleague.mcp.launch import shown_command

    place = defined_at(home, name)
    return {
        "name": name,
        "transport": server.protocol,
        "where": shown_command(server),
        "demo": server.demo,
        "enabled": server.enabled,
        "held": held,
        "login": login_state(home, name, server),
        "defined_in": str(place.file) if place else "",
    }


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of your choice.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND ARGS...", help="The program of a local server.", show_default=False
        ),
    ] = None,
    url: Annotated[str, typer.Option("--url", help="Where a remote server is.")] = "",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="K=V", help="A variable for the server; best as K='${NAME}'."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="K=V", help="An HTTP header; best as K='Bearer ${NAME}'."),
    ] = None,
    transport: Annotated[
        str, typer.Option("--transport", help="streamable-http (the default for a URL) or sse.")
    ] = "",
    demo: Annotated[bool, typer.Option("--demo", help="Rehearsals may really act on it.")] = False,
    home: HomeOption = None,
) -> None:
    """Add a server to colleague.json. Your comments in it stay."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, note, say, say_hint
    from colleague.mcp.entries import add_entry

    _check(name, command or [], url, transport)
    entry = _remote(url, transport, header or []) if url else _local(command or [], header or [])
    if env:
        entry["env"] = dict(_pair("--env", text) for text in env)
    if demo:
        entry["demo"] = True
    place, _ = _settings(home)
    add_entry(place, name, entry)
    record_change(place, "server.add", name, where=_shown_launch(place, name), demo=demo)
    if secret := _literal_secret(entry):
        place.settings_file.chmod(0o600)
        note(f"{secret} is now in {place.settings_file}, readable by you alone; better: '${{NAME}}'")
    say(f"{TICK} {name} is added to {place.settings_file}")
    _accept_if_served(place, name)
    say_hint(f"Next: colleague mcp probe {name}")


@app.command()
def accept(name: ServerArgument, home: HomeOption = None) -> None:
    """Let a server be started that is new or changed in the settings, and take its tools as they are now."""
    from colleague.cli.output import TICK, plain, say

    place, settings = _settings(home)
    command, changes = _accept(place, settings, name)
    say(f"{TICK} {name} is accepted: {plain(command)}")
    for change in changes:
        say(f"  {plain(change)}")


def _accept(home: Home, settings: Settings, name: str) -> tuple[str, list[str]]:
    """The command, or URL, that may be started from now on; and what of its tools is accepted with it."""
    from colleague.cli.client import Client, with_client
    from colleague.experts.launch_acceptance import find_entry
    from colleague.mcp.tool_record import ToolRecord
    from colleague.user_name import user_name

    entry, tools = find_entry(settings, name), ToolRecord.of(home.state / "mcp", name).digest()

    async def work(using: Client) -> list[str]:
        await using.service.accept_server(name, entry.digest, user_name())
        return await using.service.accept_tools(name, tools)

    return entry.command, with_client(home.root, work)


def _accept_if_served(home: Home, name: str) -> None:
    """Whoever adds a server accepts it. Without a gateway the next start does that."""
    from colleague.cli.output import note
    from colleague.config import load_settings
    from colleague.errors import ColleagueError
    from colleague.runtime.gateway_file import gateway_runs

    if not gateway_runs(home):
        return
    try:
        _accept(home, load_settings(home), name)
    except ColleagueError as error:
        note(f"{name} waits for a yes: {error.message}; then run colleague mcp accept {name}")


def _check(name: str, command: list[str], url: str, transport: str) -> None:
    import re

    from colleague.errors import UsageError

    if not re.fullmatch(_NAME, name):
        raise UsageError(f"{name!r} is not a name", hint="use a to z, digits, dots, dashes and underscores")
    if bool(command) == bool(url):
        raise UsageError(
            "give either --url URL or -- COMMAND ARGS...",
            hint=f"such as: colleague mcp add {name} -- npx -y it",
        )
    if transport not in ("", "sse", "streamable-http"):
        raise UsageError(f"--transport {transport!r} is neither sse nor streamable-http")
    if transport and command:
        raise UsageError("--transport is for a --url; a command speaks over stdio")
    if url and not url.startswith(("http://", "https://", "${")):
        raise UsageError(f"--url {url!r} does not begin with http:// or https://")


def _remote(url: str, transport: str, headers: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"url": url}
    if transport:
        entry["transport"] = transport
    if headers:
        entry["headers"] = dict(_pair("--header", text) for text in headers)
    return entry


def _local(command: list[str], headers: list[str]) -> dict[str, Any]:
    from colleague.errors import UsageError

    if headers:
        raise UsageError("--header is for a --url; give a command its secrets with --env")
    entry: dict[str, Any] = {"command": command[0]}
    if command[1:]:
        entry["args"] = command[1:]
    if any(not Path(part).is_absolute() and Path(part).is_file() for part in command):
        entry["cwd"] = str(Path.cwd())
    return entry


def _pair(option: str, text: str) -> tuple[str, str]:
    from colleague.errors import UsageError

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"{option} {key!r} is not written as K=V")
    return key, value


def _literal_secret(entry: dict[str, Any]) -> str:
    """The name of a secret that was given as it is and not as ${NAME}."""
    from colleague.config.secret import is_telling

    given = {**entry.get("env", {}), **entry.get("headers", {})}
    return next((key for key, value in given.items() if is_telling(key) and "${" not in value), "")


@app.command()
def remove(name: ServerArgument, home: HomeOption = None) -> None:
    """Remove a server from colleague.json. Your comments in it stay."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say
    from colleague.mcp.entries import remove_entry
    from colleague.mcp.login_record import LoginStore

    place, _ = _settings(home)
    still = remove_entry(place, name)
    record_change(place, "server.remove", name)
    if not still:
        LoginStore.of(place.state / "mcp", name).forget()
    say(f"{TICK} {name} is removed from {place.settings_file}" + (f"; {still} still has it" if still else ""))


@app.command()
def probe(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Only this server.", autocompletion=complete_server),
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start each server and list its tools. Exit code 1 when one cannot be used."""
    from colleague.cli.output import say_hint, say_json

    place, settings = _settings(home)
    names = _names(settings, name)
    probed = _run_probe(place, settings, names)
    if as_json:
        say_json([_document(each) for each in probed])
    elif not probed:
        say_hint("No MCP servers are configured. Add one with: colleague mcp add NAME -- COMMAND")
    for each in [] if as_json else probed:
        _say_probed(each)
    if not all(each.ok for each in probed):
        raise typer.Exit(1)


@app.command()
def login(
    name: ServerArgument,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser, or only print the address.")
    ] = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Log in at a remote server that asks for it (OAuth). Its tokens are kept, readable by you alone."""
    from colleague.cli.mcp_login import log_in
    from colleague.errors import ColleagueError

    place, settings = _settings(home)
    _names(settings, name)
    if name in _held(place, settings):
        raise ColleagueError(f"{name} waits for a yes", hint=f"look at it, then: colleague mcp accept {name}")
    log_in(place, name, settings.mcp.servers[name], browser=browser, as_json=as_json)


@app.command()
def logout(name: ServerArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Forget the login at a server, and have its tokens revoked where that can be done."""
    from colleague.cli.mcp_login import log_out

    place, settings = _settings(home)
    log_out(place, name, settings.mcp.servers.get(name), as_json=as_json)


@app.command()
def logs(
    name: ServerArgument,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last lines.")] = 50,
    home: HomeOption = None,
) -> None:
    """The last lines that a server wrote on stderr, or logged over the protocol. Secrets are left out."""
    from collections import deque

    from colleague.cli.output import plain, say, say_hint
    from colleague.mcp.log import log_file

    place, settings = _settings(home)
    _names(settings, name)
    file = log_file(place.logs, name)
    if not file.exists():
        say_hint(f"{name} has not written anything yet")
        return
    with file.open(encoding="utf-8", errors="replace") as text:
        for line in deque(text, maxlen=lines):
            say(plain(line.rstrip("\n")))


@app.command()
def serve(
    http: Annotated[
        bool, typer.Option("--http", help="Say where the running gateway serves the same over HTTP.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Offer your enabled experts to other programs, as an MCP server on stdin and stdout."""
    from colleague.cli.mcp_serve import say_address, serve_experts

    place, _ = _settings(home)
    if http:
        say_address(place)
    else:
        serve_experts(place)


def _names(settings: Settings, name: str) -> list[str]:
    from colleague.errors import NotFound
    from colleague.mcp.servers import unknown_server

    known = settings.mcp.servers
    if not name:
        return [each for each, server in known.items() if server.enabled]
    if name not in known:
        error = unknown_server(name, known)
        raise NotFound(error.message, hint=error.hint)
    return [name]


def _run_probe(home: Home, settings: Settings, names: list[str]) -> list[Probed]:
    import asyncio
    import os

    from colleague.cli.held_servers import servers_on_hold
    from colleague.cli.output import progress
    from colleague.mcp.probe import probe as probe_servers
    from colleague.mcp.servers import Servers

    waiting = list(names)

    async def main() -> list[Probed]:
        held = await servers_on_hold(home, settings)
        async with Servers.of(home, settings, os.environ, held=held) as servers:
            return await probe_servers(servers, names, done)

    with progress(f"Starting {', '.join(names)}") as tell:

        def done(probed: Probed) -> None:
            waiting.remove(probed.name)
            tell(f"Waiting for {', '.join(waiting)}" if waiting else "Stopping them again")

        return asyncio.run(main())


def _document(probed: Probed) -> dict[str, Any]:
    return {
        "name": probed.name,
        "transport": probed.transport,
        "ok": probed.ok,
        "seconds": probed.seconds,
        "software": probed.software,
        "protocol_version": probed.protocol_version,
        "tools": [_tool(each) for each in probed.tools],
        "error": probed.error,
        "hint": probed.hint,
        "findings": list(probed.findings),
        "changes": list(probed.changes),
    }


def _tool(tool: McpTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "read_only": tool.read_only,
        "idempotent": tool.idempotent,
        "destructive": tool.destructive,
        "input_schema": tool.input_schema,
    }


def _say_probed(probed: Probed) -> None:
    from colleague.cli.output import mark, say, say_hint

    if not probed.ok:
        say(f"{mark(False)} {probed.error}")
        say_hint(f"  {probed.hint}")
        return
    count = f"{len(probed.tools)} tool{'' if len(probed.tools) == 1 else 's'}"
    software = f", {probed.software}" if probed.software else ""
    say(f"{mark(True)} {probed.name}: {count} in {probed.seconds:.1f} s ({probed.transport}{software})")
    width = max((len(each.name) for each in probed.tools), default=0)
    for tool in probed.tools:
        say(f"    {tool.name:{width}}  {_marks(tool):22}  {_first_line(tool.description)}".rstrip())
    for finding in probed.findings:
        say(f"  ! {finding}")
    for change in probed.changes:
        say(f"  ! {change}")
    if probed.changes:
        say_hint(f"  since you accepted its tools; when they are right: colleague mcp accept {probed.name}")


def _marks(tool: McpTool) -> str:
    marks = ["read-only"] * tool.read_only + ["idempotent"] * tool.idempotent
    return ", ".join(marks)


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 80 else f"{line[:79]}…"


def _shown_launch(home: Home, name: str) -> str:
    """The command or URL of a server, without its secrets."""
    from colleague.config import load_settings
    from colleague.mcp.launch import shown_command

    server = load_settings(home).mcp.servers.get(name)
    return shown_command(server) if server else ""


def _settings(home: Path | None) -> tuple[Home, Settings]:
    from colleague.cli.client import opened

    return opened(home)
