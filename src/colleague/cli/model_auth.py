"""colleague model auth ...: the keys of providers, their order, and how they do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colleague.cli.options import HomeOption, JsonOption
from colleague.main_names import MAIN_AGENT

if TYPE_CHECKING:
    from colleague.agent.models.profile_report import ProfileDocument
    from colleague.home import Home

auth = typer.Typer(no_args_is_help=True, help="Several keys for one provider: see, add, order, free them.")

ProfileArgument = Annotated[str, typer.Argument(metavar="PROFILE", help="The name of an auth profile.")]
AgentOption = Annotated[str, typer.Option("--agent", metavar="ID", help="Whose profiles and order.")]


@auth.command("list")
def list_(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="Only this provider's.")] = "",
    agent: AgentOption = MAIN_AGENT,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The auth profiles in the order they are tried, and how each has done. Keys are never shown."""
    from colleague.cli.output import note, say, say_json, say_table

    found = [each for each in _documents(home, agent) if provider in ("", each["provider"])]
    if as_json:
        say_json(found)
        return
    if not found:
        say("There are no auth profiles: colleague model auth add NAME --provider PROVIDER --env VARIABLE")
        return
    say_table(("PROFILE", "PROVIDER", "KIND", "STATE", "LAST USED", "FAILURES", "KEY"), map(_row, found))
    for each in found:
        if each["problem"]:
            note(f"{each['profile']}: {each['problem']}")


def _row(profile: ProfileDocument) -> tuple[str, ...]:
    from colleague.cli.output import plain
    from colleague.cli.times import moment

    state = profile["state"] + (" (last good)" if profile["is_last_good"] else "")
    rests = [
        f"{rest['model'] or 'all models'} until {moment(rest['until'])} ({rest['reason']})"
        for rest in profile["cooldowns"]
    ]
    failures = ", ".join(f"{reason} {count}" for reason, count in profile["failures"].items())
    return (
        plain(profile["profile"]),
        profile["provider"],
        profile["mode"],
        "; ".join([state, *rests]),
        moment(profile["last_used"]) if profile["last_used"] else "never",
        failures,
        plain(profile["source"]),
    )


def _documents(home: Path | None, agent: str) -> list[ProfileDocument]:
    from colleague.cli.client import with_client

    return with_client(home, lambda client: client.service.auth_profiles(agent), looks=True)


@auth.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it, such as anthropic:work.")],
    provider: Annotated[str, typer.Option("--provider", help="The provider it is for.")],
    mode: Annotated[str, typer.Option("--mode", help="api_key, token or oauth.")] = "api_key",
    env: Annotated[
        str, typer.Option("--env", metavar="VAR", help="The environment variable that holds it.")
    ] = "",
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read it from stdin and write it into colleague.json.")
    ] = False,
    email: Annotated[str, typer.Option("--email", help="Whose it is.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a key of a provider to colleague.json. Your comments in it stay."""
    import os
    import sys

    from colleague.agent.models.builtin import BUILT_IN
    from colleague.agent.models.profile_entries import NewProfile, add_profile, checked_profile
    from colleague.cli.change_record import record_change
    from colleague.cli.client import opened
    from colleague.cli.output import TICK, note, say, say_json

    place, settings = opened(home)
    key = sys.stdin.readline().strip() if stdin else ""
    providers = list(dict.fromkeys([*settings.models.providers, *BUILT_IN]))
    new = checked_profile(NewProfile(name, provider, mode, env, key, email), providers)
    add_profile(place, new)
    record_change(place, "auth.add", new.name, provider=new.provider, mode=new.mode, key=new.variable)
    if as_json:
        say_json(
            {"profile": new.name, "provider": new.provider, "mode": new.mode, "key": new.variable or None}
        )
        return
    say(f"{TICK} {new.name} is added to {place.settings_file}")
    if key:
        note(f"warning: the key stands in {place.settings_file} in plain text")
    if new.variable and not os.environ.get(new.variable):
        note(f"{new.variable} is not set yet: add {new.variable}=... to {place.env_file}, or export it")
    elif problem := _problem_in_gateway(place, new.name):
        note(problem)


def _problem_in_gateway(home: Home, name: str) -> str:
    """Why a running gateway cannot use a new profile; empty when it can, or when none runs."""
    from colleague.cli.client import with_client
    from colleague.main_names import MAIN_AGENT
    from colleague.runtime.gateway_file import gateway_runs

    if not gateway_runs(home):
        return ""
    found = with_client(home.root, lambda client: client.service.auth_profiles(MAIN_AGENT))
    problems = [each["problem"] for each in found if each["profile"] == name]
    if not problems:
        return "The gateway takes it over when it is started again."
    return f"the gateway cannot use it: {problems[0]}; start the gateway again" if problems[0] else ""


@auth.command()
def remove(name: ProfileArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Remove a profile from colleague.json, with its statistics. Those of OpenClaw stay."""
    from colleague.agent.models.profile_entries import remove_profile
    from colleague.cli.change_record import record_change
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say, say_json
    from colleague.home import Home

    place = Home.find(home)
    remove_profile(place, name)
    record_change(place, "auth.remove", name)
    with_client(home, lambda client: client.service.forget_auth_profile(name))
    if as_json:
        say_json({"profile": name, "removed": True})
        return
    say(f"{TICK} {name} is removed from {place.settings_file}")


@auth.command()
def order(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="The provider.")],
    profiles: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROFILE...]", help="First to last; none: as the settings say."),
    ] = None,
    agent: AgentOption = MAIN_AGENT,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the order in which the profiles of a provider are tried. It counts from the next turn on."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say, say_json

    found = with_client(
        home, lambda client: client.service.order_auth_profiles(agent, provider, profiles or ())
    )
    now = [each["profile"] for each in found]
    if as_json:
        say_json({"provider": provider, "agent": agent, "order": now})
        return
    say(f"{TICK} {provider}: {', '.join(now) or 'no profiles'}")


@auth.command("clear-cooldown")
def clear_cooldown(
    profiles: Annotated[
        list[str] | None, typer.Argument(metavar="[PROFILE...]", help="All of them when left out.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let profiles that rest be tried at once."""
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say, say_json

    cleared = with_client(home, lambda client: client.service.clear_cooldowns(profiles or ()))
    if as_json:
        say_json({"cleared": cleared})
        return
    say(f"{TICK} free again: {', '.join(cleared)}" if cleared else "None of them rests.")
