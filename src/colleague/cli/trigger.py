"""colleague trigger: what wakes the experts of a home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import ExpertArgument, HomeOption, JsonOption
from colleague.cli.shell_completion import complete_expert, complete_trigger

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.store.tx import Tx

app = typer.Typer(no_args_is_help=True, help="Triggers: what wakes the experts, and when.")

TriggerArgument = Annotated[
    str, typer.Argument(metavar="TRIGGER", help="The trigger's name.", autocompletion=complete_trigger)
]


@app.command("list")
def list_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Only the triggers of this expert.", autocompletion=complete_expert
        ),
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every trigger: where its events come from, when it fires next and fired last, what waits, and why it
    cannot work. What agents planned themselves stands under agent:NAME."""
    import asyncio
    import os

    from colleague.cli.client import opened, with_database
    from colleague.cli.gateway_triggers import with_gateway_problems
    from colleague.cli.output import note, say, say_json
    from colleague.experts.expert import find_expert
    from colleague.plugins.report import plugin_channels
    from colleague.triggers.agent_schedules import agent_documents
    from colleague.triggers.problems import problem_finder
    from colleague.triggers.registry import TriggerRegistry
    from colleague.triggers.reminders import is_agent
    from colleague.triggers.trigger_list import trigger_documents

    place, settings = opened(home)
    registry = TriggerRegistry(place)
    find = problem_finder(settings, os.environ, plugin_channels(place, settings))

    def work(tx: Tx) -> list[dict[str, Any]]:
        return [*trigger_documents(tx, registry, find, name), *agent_documents(tx, settings, name)]

    found = with_database(home, lambda db: db.read(work))
    if name and not found and not is_agent(name):
        find_expert(place, name)
    found = asyncio.run(with_gateway_problems(place, found))
    if as_json:
        say_json(found)
    elif found:
        _say_triggers(found)
    else:
        say("There are no triggers.")
    for expert, problem in registry.problems.items():
        note(f"{expert} cannot be read: {problem}")


def _say_triggers(documents: list[dict[str, Any]]) -> None:
    """A row each, then what to do about those that cannot work."""
    from colleague.cli.output import note, say_table
    from colleague.cli.times import moment

    rows = [
        (
            d["expert"],
            d["trigger"],
            d["handler"],
            d["state"],
            moment(d["next_at"]),
            moment(d["last_at"]),
            str(d["queued"] + d["held"]),
            "; ".join(each["message"] for each in d["problems"]),
        )
        for d in documents
    ]
    say_table(("EXPERT", "TRIGGER", "FROM", "STATE", "NEXT", "LAST", "WAITING", "PROBLEMS"), rows)
    for each in documents:
        for problem in each["problems"]:
            note(f"{each['expert']}/{each['trigger']} cannot work: {problem['message']}")
            note(f"    {problem['cure']}")


@app.command()
def fire(
    name: ExpertArgument,
    trigger: TriggerArgument,
    payload: Annotated[
        str, typer.Option("--payload", metavar="FILE|JSON", help="The event's payload.")
    ] = "{}",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it ends or asks.")] = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an event happen, as if it had come from outside."""
    from colleague.cli.client import with_client
    from colleague.cli.run_view import end_with

    document = _payload(payload)
    end_with(with_client(home, lambda using: _fire(using, name, trigger, document, wait, as_json)))


async def _fire(using: Client, name: str, trigger: str, payload: Any, wait: bool, as_json: bool) -> int:
    from dataclasses import asdict

    from colleague.cli.output import TICK, note, say_json
    from colleague.cli.run_view import say_documents
    from colleague.run_document import short

    accepted = await using.service.fire(name, trigger, payload)
    if accepted.duplicate:
        note(f"the same event is known already: {short(accepted.event_id)}")
    if accepted.run_id is None or not wait:
        if as_json:
            say_json(asdict(accepted))
        elif accepted.run_id is None:
            note(f"{TICK} event {short(accepted.event_id)} is accepted and held: the trigger is paused")
        else:
            note(f"{TICK} event {short(accepted.event_id)} is accepted, run {short(accepted.run_id)}")
        return 0
    documents = await using.follow([accepted.run_id], quiet=as_json)
    return await say_documents(using.runs, documents, as_json=as_json)


def _payload(text: str) -> Any:
    """JSON as it is typed, or in a file."""
    import json

    from colleague.errors import UsageError

    looks_like_json = text.lstrip()[:1] in ("{", "[", '"')
    try:
        payload = json.loads(text if looks_like_json else Path(text).read_text(encoding="utf-8"))
        json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    except OSError as error:
        raise UsageError(f"--payload {text!r}: {error.strerror}", hint="give a file, or JSON") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--payload is no JSON: {error}") from None
    return payload


@app.command()
def pause(name: ExpertArgument, trigger: TriggerArgument, home: HomeOption = None) -> None:
    """Hold the events of a trigger from now on. Schedules that come round meanwhile are skipped."""
    import getpass

    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    who = getpass.getuser()
    changed = with_client(home, lambda using: using.service.pause(name, trigger, who))
    say(f"{TICK} {name}/{trigger} is paused" if changed else f"{name}/{trigger} was paused already")


@app.command()
def resume(name: ExpertArgument, trigger: TriggerArgument, home: HomeOption = None) -> None:
    """Let a trigger go on; events that were held get their runs, in order."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    released = with_client(home, lambda using: using.service.resume(name, trigger))
    if released is None:
        say(f"{name}/{trigger} was not paused")
    else:
        held = "1 held event has its run" if released == 1 else f"{released} held events have their runs"
        say(f"{TICK} {name}/{trigger} goes on; {held} now")
