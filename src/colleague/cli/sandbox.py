"""colleague sandbox: what sessions may touch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.sandbox.explanation import SandboxDocument
    from colleague.sandbox.folder_list import SandboxFolderDocument
    from colleague.store.tx import Database

app = typer.Typer(no_args_is_help=True, help="Sandboxes: what the commands and files of a session reach.")


@app.callback()
def group() -> None:
    """Sandboxes: what the commands and files of a session reach."""


@app.command()
def explain(
    session: Annotated[
        str, typer.Option("--session", metavar="KEY", help="The session, by its key.")
    ] = "agent:main:main",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a session may touch, and why."""
    import os

    from colleague.cli.output import say, say_json
    from colleague.config import load_settings
    from colleague.home import Home
    from colleague.sandbox.explanation import explain_sandbox

    place = Home.find(home)
    found = explain_sandbox(place, load_settings(place), session, os.environ)
    if as_json:
        say_json(found)
    else:
        for line in _lines(found):
            say(line)
    if found["problem"]:
        raise typer.Exit(1)


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the sandboxes that have a folder of their own, and which the next pruning removes."""
    from colleague.cli.output import say, say_json
    from colleague.home import Home

    found = _folders(Home.find(home))
    if as_json:
        say_json(found)
        return
    for each in found:
        say(_folder_line(each))
    if not found:
        say("No sandbox has a folder of its own.")


@app.command()
def prune(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="These; those that are due when none is given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove sandboxes that nobody uses, with their files, as sandbox.prune says."""
    import asyncio

    from colleague.cli.change_record import record_change
    from colleague.cli.output import say, say_json
    from colleague.home import Home

    place = Home.find(home)
    wanted = _wanted(_folders(place), names or [])
    gone = wanted if dry_run or not wanted else asyncio.run(_remove(place, wanted))
    for each in [] if dry_run else gone:
        record_change(place, "sandbox.prune", each)
    if as_json:
        say_json({"removed": [] if dry_run else gone, "would_remove": gone if dry_run else []})
        return
    for each in gone:
        say(f"{'would remove' if dry_run else 'removed'} {each}")
    if not gone:
        say("Nothing is to be removed.")


def _wanted(found: list[SandboxFolderDocument], names: list[str]) -> list[str]:
    """Raises UsageError for a name that there is not, or that is in use."""
    from colleague.errors import UsageError

    known = {each["name"]: each for each in found}
    for name in names:
        if name not in known:
            raise UsageError(f"there is no sandbox {name!r}", hint="colleague sandbox list")
        if known[name]["in_use"]:
            session = known[name]["session"]
            raise UsageError(
                f"{name} is in use: a run or a command of {session} has not ended", hint="colleague run list"
            )
    return names or [each["name"] for each in found if each["due"]]


def _folders(home: Home) -> list[SandboxFolderDocument]:
    import asyncio

    from colleague.clock_file import home_clock
    from colleague.config import load_settings
    from colleague.runtime.cleanup import working_sessions
    from colleague.sandbox.folder_list import list_folders

    async def working() -> list[str]:
        async with _opened(home) as database:
            return await database.read(working_sessions)

    return list_folders(home, load_settings(home), asyncio.run(working()), home_clock(home).now() / 1000)


async def _remove(home: Home, names: list[str]) -> list[str]:
    from colleague.clock_file import home_clock
    from colleague.config import load_settings
    from colleague.runtime.cleanup import remove_idle_sandboxes

    async with _opened(home) as database:
        return await remove_idle_sandboxes(home, database, load_settings(home), home_clock(home), named=names)


@asynccontextmanager
async def _opened(home: Home) -> AsyncIterator[Database]:
    import os

    from colleague.clock_file import home_clock
    from colleague.config import load_settings
    from colleague.store.open_database import open_database

    database = open_database(home, load_settings(home), os.environ, home_clock(home))
    try:
        yield database
    finally:
        await database.close()


def _folder_line(found: SandboxFolderDocument) -> str:
    state = "in use" if found["in_use"] else f"is removed next: {found['due']}" if found["due"] else "idle"
    return (
        f"{found['name']}  {found['bytes'] / 1_000_000:.1f} MB  last used {found['used_at']} by "
        f"{found['session']}  {state}"
    )


_SESSIONS = {
    "self": "its session tools see itself",
    "tree": "its session tools see itself and those it spawned",
    "agent": "its session tools see all of its agent",
    "all": "its session tools see all that tools.agentToAgent allows",
}


def _files(found: SandboxDocument) -> str:
    """Of a session without a sandbox."""
    if not found["files_outside"]:
        return f"the file tools stay in {found['folder']}"
    return (
        f"the file tools work in {found['folder']} and, by absolute paths, on the whole disk apart from "
        "keys, this home and the workspaces of others: tools.fs.workspaceOnly is false"
    )


def _lines(found: SandboxDocument) -> list[str]:
    from colleague.cli.output import CROSS

    if not found["sandboxed"]:
        return [
            f"{found['session']} has no sandbox: {found['reason']}",
            f"  files     {_files(found)}",
            "  commands  can do what the user of this machine can, each as tools.exec allows",
            f"  sessions  {_SESSIONS[found['sessions']]}",
        ]
    what = {"none": "its own, not the workspace", "ro": "the workspace, to read", "rw": "the workspace"}
    access = what[found["workspace_access"] or "none"]
    network = "reached" if found["network"] else "none"
    lines = [
        f"{found['session']} runs in a sandbox: {found['reason']}, with {found['backend']}",
        f"  files     {found['folder']} ({access}), called {found['inside']} inside",
        f"  network   {network}",
        f"  limits    {found['memory_mb']} MB of memory for a process, {found['file_mb']} MB for a file, "
        f"{found['tmp_mb']} MB in /tmp"
        + (f", {found['disk_mb']} MB for all its files" if found["disk_mb"] else ""),
        f"  sessions  {_SESSIONS[found['sessions']]}",
        "  outside   only elevated commands, each after a yes; MCP servers without a sandbox of their own",
    ]
    problem = found["problem"]
    return [*lines, f"{CROSS} nothing of it starts: {problem}", f"  {found['cure']}"] if problem else lines
