"""colleague agent: one durable turn of the main agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.cli.client import Client


def agent(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What the agent is to do.")],
    model: Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one turn of the main agent. Exit code 4: a person is asked, and a printed command continues it."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    end_with(with_client(home, lambda using: _turn(using, message, model, as_json)))


async def _turn(using: Client, message: str, model: str, as_json: bool) -> int:
    from colleague.cli.handed_over import say_handed_over
    from colleague.cli.run_view import say_documents

    accepted = await using.service.say(message, model=model)
    documents = await using.follow([str(accepted.run_id)], quiet=as_json)
    code = await say_documents(using.service, documents, as_json=as_json)
    return code if as_json else code or await say_handed_over(using, documents[0])
