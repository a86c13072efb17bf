"""colleague sandbox: what sessions may touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.sandbox.explanation import SandboxDocument

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
    from colleague.cli.output import say, say_json
    from colleague.config import load_settings
    from colleague.home import Home
    from colleague.sandbox.explanation import explain_sandbox

    place = Home.find(home)
    found = explain_sandbox(place, load_settings(place), session)
    if as_json:
        say_json(found)
    else:
        for line in _lines(found):
            say(line)
    if found["problem"]:
        raise typer.Exit(1)


def _lines(found: SandboxDocument) -> list[str]:
    from colleague.cli.output import CROSS
    from colleague.sandbox.bubblewrap import INSTALL

    if not found["sandboxed"]:
        return [
            f"{found['session']} has no sandbox: {found['reason']}",
            f"  files     the file tools stay in {found['folder']}",
            "  commands  can do what the user of this machine can, each as tools.exec allows",
        ]
    what = {"none": "its own, not the workspace", "ro": "the workspace, to read", "rw": "the workspace"}
    access = what[found["workspace_access"] or "none"]
    network = "reached" if found["network"] else "none"
    lines = [
        f"{found['session']} runs in a sandbox: {found['reason']}, with {found['backend']}",
        f"  files     {found['folder']} ({access}), called {found['inside']} inside",
        f"  network   {network}",
        f"  limits    {found['memory_mb']} MB of memory for a process, {found['file_mb']} MB for a file, "
        f"{found['tmp_mb']} MB in /tmp",
        "  outside   only elevated commands, each after a yes; MCP servers run outside",
    ]
    problem = found["problem"]
    return [*lines, f"{CROSS} nothing of it starts: {problem}", f"  {INSTALL}"] if problem else lines
