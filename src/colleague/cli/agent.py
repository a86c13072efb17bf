"""colleague agent: one durable turn of the main agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.experts.host import Host
    from colleague.home import Home


def agent(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What the agent is to do.")],
    model: Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one turn of the main agent. Exit code 4: a person is asked, and a printed command continues it."""
    import asyncio

    from colleague.cli.hosting import opened
    from colleague.cli.run_view import end_with

    place, settings = opened(home)
    asyncio.run(_turn(place, settings, message, model, as_json))
    end_with()


async def _turn(home: Home, settings: Settings, message: str, model: str, as_json: bool) -> None:
    from colleague.cli.run_view import Watching, say_runs
    from colleague.experts.host import open_host

    async with open_host(home, settings) as host:
        run_id = await _accept(host, message, model)
        with Watching(host.bus, quiet=as_json):
            runs = await host.advance_only([run_id])
        await say_runs(host.database, home, runs, as_json=as_json)


async def _accept(host: Host, message: str, model: str) -> str:
    import json

    from colleague.agent.main_agent import OWNER, SESSION
    from colleague.store.accept import Arrival, accept

    arrival = Arrival(
        expert=OWNER,
        trigger="command",
        source="command",
        payload=json.dumps({"message": message}, ensure_ascii=False),
        inputs=json.dumps({"message": message}, ensure_ascii=False),
        session_key=SESSION,
        lane=SESSION,
        model=model,
    )
    accepted = await host.database.write(lambda tx: accept(tx, arrival))
    return str(accepted.run_id)
