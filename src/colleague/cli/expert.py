"""colleague expert ...: packages in the home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.dry_run import DryRunCommand
from colleague.cli.expert_run import rehearse, run
from colleague.cli.options import ExpertArgument, HomeOption, JsonOption, YesOption
from colleague.cli.shell_completion import complete_expert

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from colleague.experts.expert import Expert
    from colleague.home import Home

app = typer.Typer(no_args_is_help=True, help="Install, bind, check and update experts.")


@app.command()
def install(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder, a .zip or .tar.gz (file or https URL), a git URL or owner/repository on GitHub; "
            "@REF after it names a branch, tag or commit.",
        ),
    ],
    path: Annotated[
        str, typer.Option("--path", metavar="SUBFOLDER", help="Where in the source the package is.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Install under another name.")] = "",
    link: Annotated[
        bool, typer.Option("--link", help="Use the folder where it is, so that edits count at once.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Install an expert; shows its tools, triggers and tiers, and what is missing."""
    from colleague.cli import expert_view
    from colleague.cli.change_record import record_change
    from colleague.cli.client import loaded
    from colleague.cli.output import progress
    from colleague.experts.install import install_expert
    from colleague.home import Home
    from colleague.packages.source import parse_source

    place = Home.find(home)
    settings = loaded(place)
    with progress("Installing") as tell:
        parsed = parse_source(source, path=path, link=link)
        expert = install_expert(place, settings.workspace, parsed, name=name, progress=tell)
    about = {"source": str(parsed), "digest": expert.record.digest}
    record_change(place, "expert.install", expert.name, expert=expert.name, **about)
    expert_view.say_installed(expert, as_json=as_json)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new expert's name.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to write it (default: ./NAME).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a small package that validates, to start from."""
    import shlex

    from colleague.cli.output import TICK, say, say_hint, say_json
    from colleague.experts.install import checked_name
    from colleague.packages.scaffold import new_package

    target = folder or Path(checked_name(name))
    files = new_package(target, checked_name(name))
    if as_json:
        say_json({"name": name, "folder": str(target.absolute()), "files": files})
        return
    say(f"{TICK} {target}: {len(files)} files")
    typed = shlex.quote(str(target))
    say_hint(f"Next: colleague expert validate {typed}\n      colleague expert install --link {typed}")


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The installed experts."""
    from colleague.cli import expert_notice
    from colleague.cli.output import say_hint, say_json, say_table
    from colleague.experts.bindings import read_bindings
    from colleague.experts.expert import discover
    from colleague.experts.summary import brief
    from colleague.home import Home
    from colleague.packages.finding import Findings

    experts = discover(Home.find(home))
    found = [
        brief(each, each.read_manifest(), read_bindings(each.bindings_file, Findings())) for each in experts
    ]
    if as_json:
        say_json(found)
    elif found:
        say_table(("NAME", "VERSION", "TRIGGERS", "TOOLS BOUND", "DESCRIPTION"), map(_row, found))
        accepted = {item["name"] for item in found if item["accepted"]}
        expert_notice.note_all(each for each in experts if each.name not in accepted)
    else:
        say_hint("No experts are installed. Install one with: colleague expert install FOLDER|URL")


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    from colleague.cli.typed import with_home

    if not item["readable"]:
        cure = with_home(f"unreadable: colleague expert validate {item['name']}")
        return item["name"], item["version"], "", "", cure
    if item["problem"]:
        return item["name"], item["version"], "", "", f"broken: {item['problem']}"
    bound = sum(server is not None for server in item["tools"].values())
    triggers = f"{'on' if item['enabled'] else 'off'} ({len(item['triggers'])})"
    return item["name"], item["version"], triggers, f"{bound}/{len(item['tools'])}", item["description"]


@app.command()
def show(name: ExpertArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Everything about one expert: tools, tiers, triggers, processes, state."""
    from colleague.cli import expert_view

    expert_view.say_expert(_find(home, name), as_json=as_json)


@app.command()
def bind(
    name: ExpertArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="A tool the expert needs.")],
    server: Annotated[str, typer.Argument(metavar="SERVER", help="An MCP server, or a skill with --skill.")],
    skill: Annotated[bool, typer.Option("--skill", help="SERVER is a skill, not an MCP server.")] = False,
    operation: Annotated[
        list[str] | None,
        typer.Option("--operation", metavar="OP=MCP_TOOL", help="The server's name of an operation."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Connect a tool of an expert to a server. Your comments in bindings.yaml stay."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say
    from colleague.experts.bind import bind_tool
    from colleague.experts.expert import require_valid

    mapping = dict(_pair(text) for text in operation or [])
    with _changing(home, name) as expert:
        bind_tool(expert, require_valid(expert.read(), name), tool, server, skill=skill, operations=mapping)
    record_change(_home(home), "expert.bind", tool, expert=name, to=server)
    say(f"{TICK} {name}: {tool} → {server}")
    if not skill:
        _note_unknown(home, server)


def _note_unknown(home: Path | None, server: str) -> None:
    """A server may be bound before it is configured; whoever mistyped its name is told at once."""
    from colleague.cli.client import opened
    from colleague.cli.output import note
    from colleague.experts.runs.required_tools import server_hint

    known = tuple(opened(home)[1].mcp.servers)
    if server not in known:
        note(f"  there is no MCP server {server!r} yet: {server_hint(server, known)}")


@app.command()
def unbind(
    name: ExpertArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="A bound tool.")],
    home: HomeOption = None,
) -> None:
    """Disconnect a tool."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say
    from colleague.experts.bind import unbind_tool

    with _changing(home, name) as expert:
        unbind_tool(expert, tool)
    record_change(_home(home), "expert.unbind", tool, expert=name)
    say(f"{TICK} {name}: {tool} is bound to nothing now")


@app.command()
def validate(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME|PATH", help="An installed expert, or a folder.", autocompletion=complete_expert
        ),
    ],
    offline: Annotated[
        bool, typer.Option("--offline", help="Only the package itself: no bindings, no servers.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a package and, for an installed expert, its bindings; the servers they name are started for it.

    Exit code 1 when there is an error."""
    from colleague.cli import validation_view
    from colleague.home import Home

    place = Home.find(home)
    if not validation_view.say_validation(place, target, offline=offline, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def enable(name: ExpertArgument, home: HomeOption = None) -> None:
    """Turn an expert's triggers on.

    Those that cannot work are named, and the exit code is 1; the others are on all the same."""
    from colleague.cli import expert_view

    if not expert_view.enable(_place(home)[0], name):
        raise typer.Exit(1)


@app.command()
def disable(name: ExpertArgument, home: HomeOption = None) -> None:
    """Turn an expert's triggers off."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, say
    from colleague.experts.enabling import disable_expert

    disable_expert(*_place(home), name)
    record_change(_home(home), "expert.disable", name, expert=name)
    say(f"{TICK} {name} is disabled: its triggers are off")


@app.command()
def update(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An installed expert.", autocompletion=complete_expert)
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Update every expert.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also a major version, or over changes made by hand.")
    ] = False,
    accept_edits: Annotated[
        bool,
        typer.Option("--accept-edits", help="Accept what was changed by hand in the home, and keep it."),
    ] = False,
    to: Annotated[
        str, typer.Option("--to", metavar="REF", help="Go to this branch, tag or commit, and stay with it.")
    ] = "",
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move to the source's current version, or accept the folder of a linked expert as it is.

    Shows what changes first, and asks where approval loosens."""
    from colleague.cli import update_view
    from colleague.errors import UsageError

    if bool(name) == every:
        raise UsageError("name one expert, or all of them with --all")
    if to and every:
        raise UsageError("--to goes with the name of one expert, not with --all")
    place, workspace = _place(home)
    answers = update_view.Answers(force=force, yes=yes, as_json=as_json, accept_edits=accept_edits, to=to)
    if not update_view.update_experts(place, workspace, name, answers):
        raise typer.Exit(1)


@app.command()
def remove(
    name: ExpertArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its state and bindings, too.")] = False,
    yes: YesOption = False,
    home: HomeOption = None,
) -> None:
    """Remove an expert. Its state and bindings stay for a reinstall, unless --purge."""
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, confirm, say
    from colleague.experts.expert import find_expert
    from colleague.experts.install import remove_expert

    place, workspace = _place(home)
    find_expert(place, name)
    if purge:
        confirm(f"Delete {name} with its state and bindings for ever?", yes=yes)
    remove_expert(place, workspace, name, purge=purge)
    record_change(place, "expert.remove", name, expert=name, purge=purge)
    say(f"{TICK} {name} is removed" + ("" if purge else "; its state and bindings stay for a reinstall"))


@app.command()
def prompt(
    name: ExpertArgument,
    sizes: Annotated[bool, typer.Option("--sizes", help="How long each part is, without the text.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The system prompt the expert gets."""
    import os

    from colleague.cli.client import opened
    from colleague.cli.output import say, say_json
    from colleague.clock import wall_time_ms
    from colleague.experts.runs.prompt_report import expert_prompt
    from colleague.plugins.skill_folders import plugin_skill_folders
    from colleague.skills.lookup import SkillLookup

    place, settings = opened(home)
    lookup = SkillLookup.of(settings, os.environ, plugin_skill_folders(place, settings))
    found = expert_prompt(settings, lookup, _find(home, name), wall_time_ms())
    if as_json:
        say_json(found)
    elif sizes:
        say("\n".join(f"{each['chars']:>8,}  {each['name']}" for each in found["sections"]))
        say(f"{found['chars']:>8,}  characters in all")
    else:
        say(found["prompt"].rstrip())


def _place(home: Path | None) -> tuple[Home, Path]:
    """The home and its workspace."""
    from colleague.cli.client import loaded
    from colleague.home import Home

    place = Home.find(home)
    return place, loaded(place).workspace


def _home(home: Path | None) -> Home:
    from colleague.home import Home

    return Home.find(home)


def _find(home: Path | None, name: str) -> Expert:
    from colleague.experts.expert import find_expert

    return find_expert(_home(home), name)


def _changing(home: Path | None, name: str) -> AbstractContextManager[Expert]:
    from colleague.experts.install import changing_expert

    place, workspace = _place(home)
    return changing_expert(place, workspace, name)


def _pair(text: str) -> tuple[str, str]:
    from colleague.errors import UsageError

    operation, equals, target = text.partition("=")
    if not (operation and equals and target):
        raise UsageError(f"--operation {text!r} is not written as OP=MCP_TOOL")
    return operation, target


app.command(cls=DryRunCommand)(run)
app.command()(rehearse)
