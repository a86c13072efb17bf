"""colleague agent: says something to a session and shows the turn that answers it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption
from colleague.cli.shell_completion import complete_expert

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home
    from colleague.run_document import RunDocument
    from colleague.runtime.requests import MessageRequest, SentMessage

LOOK_SECONDS = 0.2
STDIN = "-"
SessionOption = Annotated[
    str,
    typer.Option("--session", metavar="KEY|LABEL", help="The session to talk to (default: the main one)."),
]
AgentOption = Annotated[str, typer.Option("--agent", metavar="ID", help="An agent of agents.list.")]
ExpertOption = Annotated[
    str,
    typer.Option("--expert", metavar="NAME", help="Talk to this expert.", autocompletion=complete_expert),
]


def agent(
    message: Annotated[str, typer.Argument(metavar="MESSAGE|-", help="What to say; - reads it from stdin.")],
    session: SessionOption = "",
    agent_id: AgentOption = "",
    expert: ExpertOption = "",
    model: Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one turn of an agent. Exit code 4: it asks for a decision, and the commands for it are printed."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with
    from colleague.home import Home
    from colleague.runtime.requests import MessageRequest

    key = chosen_session(Home.find(home), session, agent_id, expert)
    text = sys.stdin.read() if message == STDIN else message
    request = MessageRequest(text, model=model)
    end_with(with_client(home, lambda using: one_turn(using, key, request, as_json=as_json)))


def chosen_session(home: Home, session: str, agent_id: str = "", expert: str = "") -> str:
    """The key or label of the session that a command names. Raises UsageError or NotFound."""
    from colleague.errors import UsageError
    from colleague.main_names import MAIN_AGENT
    from colleague.session_key import SessionKey

    if session and (agent_id or expert):
        raise UsageError("--session names the whole session", hint="leave out --agent and --expert")
    if session:
        return session
    if expert:
        from colleague.experts.expert import find_expert

        find_expert(home, expert)
        return str(SessionKey.for_expert(expert, agent=agent_id or MAIN_AGENT))
    return str(SessionKey.for_main(agent_id or MAIN_AGENT))


async def one_turn(using: Client, session: str, request: MessageRequest, *, as_json: bool) -> int:
    """Says something and shows the turn that answers it; the exit code."""
    from colleague.cli.output import note

    sent = await using.runs.send(session, request)
    for problem in sent.problems:
        note(problem)
    return await follow_turn(using, sent, as_json=as_json)


async def follow_turn(using: Client, sent: SentMessage, *, as_json: bool) -> int:
    """Shows the turn that a message has started, or waits for; the exit code."""
    from colleague.cli.handed_over import say_handed_over
    from colleague.cli.output import note
    from colleague.cli.run_view import say_documents
    from colleague.session_text import WHAT_BECAME

    if sent.queued == "interrupted" and not as_json:
        note(f"{sent.session_key}: {WHAT_BECAME[sent.queued]}")
    if sent.run_id and sent.queued in ("started", "interrupted"):
        documents = await using.follow([str(sent.run_id)], quiet=as_json)
    else:
        async with using.working() as working:
            documents = [await _waited_for(working, sent, as_json)]
    code = await say_documents(using.runs, documents, as_json=as_json)
    return code if as_json else code or await say_handed_over(using, documents[0])


async def _waited_for(using: Client, sent: SentMessage, as_json: bool) -> RunDocument:
    """The turn that decided on a message which came while another turn was at work."""
    from colleague.cli.output import note
    from colleague.session_text import WHAT_BECAME

    if sent.queued in ("steered", "collected", "queued") and not as_json:
        note(f"{sent.session_key}: {WHAT_BECAME[sent.queued]} Waiting for the answer.")
    run_id = await turn_of(using, sent.event_id)
    while True:
        [document] = await using.follow([run_id], quiet=as_json)
        latest = await turn_of(using, sent.event_id)
        if latest == run_id:
            return document
        run_id = latest


async def turn_of(using: Client, event_id: str) -> str:
    """The run in which an accepted message is answered, once there is one. Raises ColleagueError when nobody
    answers it."""
    from colleague.errors import ColleagueError

    while True:
        event = await using.runs.event(event_id)
        if event["run"]:
            return str(event["run"]["id"])
        if event["outcome"]:
            raise ColleagueError(
                f"the message was not answered: {event['reason']}", hint="see: colleague session show"
            )
        await asyncio.sleep(LOOK_SECONDS)
