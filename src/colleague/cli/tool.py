"""colleague tool: what a session may use, who is asked first, and which layer of the policy decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.tool_document import ToolDocument

app = typer.Typer(no_args_is_help=True, help="The tools of agents, and the policy about them.")

SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="KEY|LABEL", help="A session, by its key or label.")
]
AgentOption = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="An agent of agents.list; its main session.")
]
ToolArgument = Annotated[
    str, typer.Argument(metavar="TOOL", help="The name of a tool, such as read or mail.send_mail.")
]


@app.command("list")
def list_(
    session: SessionOption = None,
    agent: AgentOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every tool that the next turn of a session could have, offered or not."""
    from colleague.cli.client import with_client
    from colleague.cli.output import plain, say_json, say_table

    key = _session(session, agent)
    found = with_client(home, lambda using: using.service.tools(key))
    if as_json:
        say_json(found)
        return
    rows = [
        (
            each["tool"],
            "yes" if each["offered"] else "no",
            each["tier"] if each["offered"] else "",
            f"{each['decided_by']['layer']}: {plain(each['decided_by']['rule'])}",
        )
        for each in found
    ]
    say_table(("TOOL", "OFFERED", "TIER", "DECIDED BY"), rows)


@app.command()
def explain(
    tool: ToolArgument,
    session: SessionOption = None,
    agent: AgentOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Why a session has a tool or has it not, layer by layer."""
    from colleague.cli.output import say, say_json

    found = _explained(home, _session(session, agent), tool)
    if as_json:
        say_json(found)
        return
    say("\n".join(_lines(found)))


def _explained(home: Path | None, session: str, tool: str) -> ToolDocument:
    from colleague.cli.client import with_client

    return with_client(home, lambda using: using.service.tool(session, tool))


def _session(session: str | None, agent: str | None) -> str:
    from colleague.errors import UsageError
    from colleague.session_key import SessionKey

    if session and agent:
        raise UsageError("--session and --agent are two ways to say the same", hint="give one of them")
    return session or (str(SessionKey.for_main(agent)) if agent else "main")


def _lines(document: ToolDocument) -> Iterator[str]:
    from colleague.cli.output import plain

    by = document["decided_by"]
    word = "is offered" if document["offered"] else "is not offered"
    yield f"{document['tool']} {word}: {plain(by['rule'])} (layer: {by['layer']})"
    if document["offered"]:
        yield f"Tier: {document['tier']}"
    if document["note"]:
        yield f"It {document['note']}."
    yield ""
    for each in document["layers"]:
        said = plain(each["rule"]) or "says nothing"
        yield f"  {each['layer']:<20} {each['effect']:<6} {said}"
