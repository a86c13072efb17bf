"""colleague skill: folders with a SKILL.md, which agents read when a task needs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.skills.collection import SkillCollection
    from colleague.skills.eligibility import SkillConditions

app = typer.Typer(no_args_is_help=True, help="Skills: where each comes from, and why one is not used.")

AgentOption = Annotated[
    str, typer.Option("--agent", metavar="ID", help="For which agent of agents.list; the main one if none.")
]


def complete_skill(incomplete: str) -> list[str]:
    found, _ = _loaded(None, "main")
    return [name for name in found.skills if name.startswith(incomplete)]


SkillArgument = Annotated[str, typer.Argument(metavar="NAME", help="A skill.", autocompletion=complete_skill)]


@app.command("list")
def list_(agent: AgentOption = "main", home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Every skill that is there, whether an agent can use it, and why not."""
    from colleague.cli.output import note, plain, say_hint, say_json, say_table
    from colleague.skills.report import skill_documents

    found = skill_documents(*_loaded(home, agent))
    if as_json:
        say_json(found)
        return
    if not found:
        say_hint("There are no skills. One is a folder skills/NAME in the home, with a SKILL.md.")
        return
    say_table(("NAME", "STATUS", "FROM", "WHAT IT IS FOR"), map(_row, found))
    for each in found:
        if each["reasons"]:
            note(f"{plain(each['name'])}: {plain('; '.join(each['reasons']))}")


MOST_SHOWN = 60


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    from colleague.cli.output import plain

    said = " ".join(document["description"].split())
    short = said if len(said) <= MOST_SHOWN else f"{said[:MOST_SHOWN].rsplit(' ', 1)[0]} ..."
    return plain(document["name"]), document["status"], document["source"], plain(short)


@app.command()
def show(
    name: SkillArgument, agent: AgentOption = "main", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """One skill: what it needs, what is missing, and how to get it."""
    from colleague.cli.output import plain, say, say_json
    from colleague.skills.report import skill_document

    found = skill_document(*_loaded(home, agent), name)
    if as_json:
        say_json(found)
    else:
        say("\n".join(map(plain, _lines(found))))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield f"{document['name']}: {document['status']}, from {document['source']}"
    yield f"  {document['folder']}"
    if document["description"]:
        yield f"  {' '.join(document['description'].split())}"
    yield from (f"  not used: {each}" for each in document["reasons"])
    if document["hint"]:
        yield f"  to mend it: {document['hint']}"
    yield from (f"  to install: {each}" for each in document["install"])
    yield from _facts(document)
    yield from (f"  warning: {each}" for each in document["warnings"])


def _facts(document: dict[str, Any]) -> Iterator[str]:
    needs = document["requires"] or {}
    for word, names in (
        ("systems", needs.get("os")),
        ("programs", needs.get("bins")),
        ("one of the programs", needs.get("any_bins")),
        ("variables", needs.get("env")),
        ("settings", needs.get("config")),
    ):
        if names:
            yield f"  needs {word}: {', '.join(names)}"
    if document["variables"]:
        yield f"  its commands get: {', '.join(document['variables'])}"
    if document["allowed_tools"]:
        yield f"  names the tools: {', '.join(document['allowed_tools'])}"
    if document["requires"] is not None and not document["model_invocable"]:
        yield "  agents do not choose it by themselves: name it in what you ask"
    if document["homepage"]:
        yield f"  see {document['homepage']}"


def _loaded(given: Path | None, agent: str) -> tuple[SkillCollection, SkillConditions]:
    from colleague.config import load_settings
    from colleague.home import Home

    home = Home.find(given)
    return loaded_skills(home, load_settings(home), agent)


def loaded_skills(home: Home, settings: Settings, agent: str) -> tuple[SkillCollection, SkillConditions]:
    """The skills of a home, and what they meet there, for an agent in the environment of this command."""
    import os

    from colleague.agent.session_skills import skill_conditions
    from colleague.plugins.skill_folders import plugin_skill_folders
    from colleague.session_key import SessionKey
    from colleague.skills.collection import load_skills
    from colleague.skills.places import SkillPlaces

    own = settings.for_agent(agent)
    places = SkillPlaces.of(own, plugin_skill_folders(home, settings))
    return load_skills(places), skill_conditions(own, os.environ, str(SessionKey.for_main(agent)))
