"""colleague demo: the main job, end to end, on an example expert."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

EXPERT = "radiant-sales-expert"
PROMPT_LINES = 40


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's home, to look around in it.")] = False,
) -> None:
    """Show the main job on an example expert, in a temporary home. No key, no account."""
    import tempfile

    from colleague.cli.output import TICK, say

    root = Path(tempfile.mkdtemp(prefix="colleague-demo-"))
    try:
        _play(root)
    finally:
        if not keep:
            import shutil

            shutil.rmtree(root, ignore_errors=True)
    say(f"\n{TICK} That is an expert, ready to be run." + (f" Its home: {root}" if keep else ""))


def _play(root: Path) -> None:
    from colleague.cli.output import say

    office = [
        sys.executable,
        str(_example("office") / "server.py"),
        "--database",
        str(root / "office.sqlite"),
    ]
    say("An office with mail, CRM and calendar, as an MCP server:")
    _command(root, "mcp", "add", "office", "--demo", "--", *office)
    _scene(root, "What it offers:", "mcp", "probe", "office")
    package = str(_example(EXPERT))
    _scene(root, "An expert is a folder of Markdown and YAML. Install one:", "expert", "install", package)
    say("\nIt needs three tools. Connect each to a server:")
    for tool in ("crm", "email", "calendar"):
        _command(root, "expert", "bind", EXPERT, tool, "office")
    _scene(root, "Check everything it says and needs:", "expert", "validate", EXPERT)
    _scene(root, "From now on it may wake by itself:", "expert", "enable", EXPERT)
    _scene(root, "What is installed:", "expert", "list")
    _scene(root, "What the model will be told:", "expert", "prompt", EXPERT, most=PROMPT_LINES)


def _scene(root: Path, text: str, *arguments: str, most: int = 0) -> None:
    from colleague.cli.output import say

    say(f"\n{text}")
    _command(root, *arguments, most=most)


def _command(root: Path, *arguments: str, most: int = 0) -> None:
    """Runs a command as a person would type it, in a process of its own."""
    import subprocess

    from colleague.cli.output import note, say
    from colleague.errors import ColleagueError

    say(typer.style(f"$ colleague {' '.join(arguments)}", bold=True))
    command = [sys.executable, "-m", "colleague", *arguments]
    environment = os.environ | {"OPENCLAW_STATE_DIR": str(root)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lines = done.stdout.rstrip().splitlines()
    say("\n".join(lines[:most] if most else lines))
    if most and len(lines) > most:
        say(f"... and {len(lines) - most} more lines")
    if done.stderr:
        note(done.stderr.rstrip())
    if done.returncode != 0:
        raise ColleagueError(
            f"the demo stopped: colleague {' '.join(arguments)} ended with {done.returncode}"
        )


def _example(name: str) -> Path:
    """An example beside the sources, or the copy that ships with the installed package."""
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "examples", here.parents[3] / "examples"):
        if (folder / name).is_dir():
            return folder / name
    from colleague.errors import NotFound

    raise NotFound(f"the example {name} is missing", hint="install Colleague again")
