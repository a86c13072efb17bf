"""colleague prompt: what an agent is told, and how long each part of it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption
from colleague.session_document import PromptMode

if TYPE_CHECKING:
    from colleague.session_document import PromptDocument, PromptFileDocument


def prompt(
    session: Annotated[
        str, typer.Option("--session", metavar="KEY|LABEL", help="A session, by its key or label.")
    ] = "main",
    mode: Annotated[
        PromptMode | None,
        typer.Option("--mode", help="Another mode than the session's own: minimal is for sub-agents."),
    ] = None,
    sizes: Annotated[bool, typer.Option("--sizes", help="How long each part is, without the text.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The system prompt that the next turn of a session would have."""
    from colleague.cli.client import with_client
    from colleague.cli.output import note, say, say_json

    found = with_client(home, lambda using: using.service.prompt(session, mode))
    if as_json:
        say_json({name: value for name, value in found.items() if name != "prompt" or not sizes})
        return
    say("\n".join(_size_lines(found)) if sizes else found["prompt"])
    for file in found["files"]:
        if file["problem"]:
            note(f"warning: {file['problem']}")


def _size_lines(document: PromptDocument) -> Iterator[str]:
    for section in document["sections"]:
        yield f"{section['chars']:>8,}  {section['name'].replace('_', ' ')}"
    stable = f"{document['stable_chars']:,} of them stay the same from turn to turn"
    yield f"{document['chars']:>8,}  characters in all; {stable}"
    files = [each for each in document["files"] if each["status"] != "missing"]
    if files:
        yield ""
        yield "Files of the workspace:"
    yield from (f"{each['shown_chars']:>8,}  {each['name']}{_state(each)}" for each in files)
    tools = document["tool_schemas"]
    yield ""
    yield f"{tools['chars']:>8,}  characters of {tools['count']} tool definitions, sent beside it"


def _state(file: PromptFileDocument) -> str:
    if file["status"] == "whole":
        return ""
    of = f" of {file['chars']:,}" if file["chars"] else ""
    return f" ({file['status']}{of})"
