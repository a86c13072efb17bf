"""colleague canvas: what agents show beside their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

app = typer.Typer(no_args_is_help=True, help="Documents, tables and charts that agents show.")

CanvasArgument = Annotated[str, typer.Argument(metavar="ID", help="The ending of a canvas's id.")]
VersionOption = Annotated[
    int | None, typer.Option("--version", min=1, help="An earlier version; the newest when not given.")
]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="KEY|LABEL", help="Only those of one session.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where the page is written; in the home when not given.")
]


@app.command("list")
def list_(session: SessionOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """What agents show, the newest first."""
    from colleague.cli.client import with_database
    from colleague.cli.output import plain, say, say_json, say_table
    from colleague.cli.times import moment
    from colleague.run_document import short
    from colleague.sessions.messages import find_key
    from colleague.store.canvases import canvas_documents
    from colleague.store.tx import Tx

    def work(tx: Tx) -> list[dict[str, Any]]:
        key = str(find_key(tx, session)) if session else None
        return canvas_documents(tx, session_key=key, limit=1000)

    found = with_database(home, lambda database: database.read(work))
    if as_json:
        say_json(found)
    elif found:
        rows = [
            (
                *(short(each["id"]), each["kind"], plain(each["title"]), str(each["version"])),
                *(each["session_key"], moment(each["updated_at"])),
            )
            for each in found
        ]
        say_table(("ID", "KIND", "TITLE", "VERSION", "SESSION", "UPDATED"), rows)
    else:
        say("No agent has shown anything yet.")


@app.command()
def show(
    canvas: CanvasArgument,
    version: VersionOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """A canvas as text."""
    from colleague.agent.canvas.text_view import canvas_text
    from colleague.cli.output import plain, say, say_json

    document = _document(home, canvas, version)
    if as_json:
        say_json(document)
        return
    say(plain(document["title"]))
    say()
    say(canvas_text(document["kind"], document["content"]))


@app.command("open")
def open_(
    canvas: CanvasArgument,
    version: VersionOption = None,
    output: OutputOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """A canvas as a page in the browser. It runs nothing: HTML of an agent is shown as source."""
    import sys

    from colleague.agent.canvas.page import canvas_page
    from colleague.cli.client import opened
    from colleague.cli.output import say, say_json
    from colleague.files import write_atomic

    document = _document(home, canvas, version)
    place, _ = opened(home)
    name = f"{document['id']}-{document['shown_version']}.html"
    file = output or place.state / "canvases" / name
    page = canvas_page(document["title"], document["kind"], document["content"])
    write_atomic(file, page.encode(), mode=0o600)
    if as_json:
        say_json({"id": document["id"], "file": str(file.absolute())})
        return
    say(str(file.absolute()))
    if output is None and sys.stdout.isatty():
        typer.launch(file.absolute().as_uri())


@app.command()
def remove(canvas: CanvasArgument, home: HomeOption = None) -> None:
    """Remove a canvas with all of its versions."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    with_client(home, lambda using: using.service.remove_canvas(canvas))
    say(f"{TICK} canvas {canvas} is removed")


def _document(home: Path | None, canvas: str, version: int | None) -> dict[str, Any]:
    from colleague.cli.client import with_database
    from colleague.store.canvases import canvas_document

    return with_database(
        home, lambda database: database.read(lambda tx: canvas_document(tx, canvas, version))
    )
