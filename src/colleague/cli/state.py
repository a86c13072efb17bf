"""colleague state: what an expert's files were before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.completion import complete_expert
from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.agent.tools.tree import Tree
    from colleague.agent.tools.versioned import Written
    from colleague.config import Settings
    from colleague.home import Home

app = typer.Typer(no_args_is_help=True, help="The files of an expert, and every version of them.")

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="EXPERT",
        help="An installed expert, or main for the main agent.",
        autocompletion=complete_expert,
    ),
]
FILE_HELP = "A file, such as state/pipeline.md or just pipeline.md."


@app.command()
def history(
    expert: NameArgument,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, the newest first.")] = 100,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The versions of a file, the newest first; without FILE, the files that have any."""
    if file is None:
        _say_files(expert, home, as_json=as_json)
    else:
        _say_versions(expert, file, limit, home, as_json=as_json)


@app.command()
def restore(
    expert: NameArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="A number that history shows.")],
    home: HomeOption = None,
) -> None:
    """Put a version back. What is there now is kept as a version, too."""
    from colleague.cli.output import TICK, say

    written = _restored(expert, file, version, home)
    if written.version is None:
        say(f"{written.path} has the text of version {version} already")
    else:
        say(f"{TICK} {written.path} is as in version {version} again, now version {written.version.number}")


def _say_files(expert: str, home: Path | None, *, as_json: bool) -> None:
    from colleague.cli.hosting import opened, with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.experts.expert import find_expert
    from colleague.experts.workspace.file_history import files_with_versions

    owner = _owner(expert)
    found = with_database(home, lambda database: database.read(lambda tx: files_with_versions(tx, owner)))
    if not found and owner == expert:
        find_expert(opened(home)[0], expert)
    documents = [each.to_json() for each in found]
    if as_json:
        say_json(documents)
    elif documents:
        rows = [(d["path"], str(d["versions"]), d["written_at"]) for d in documents]
        say_table(("FILE", "VERSIONS", "WRITTEN"), rows)
    else:
        say(f"No file of {expert} has been changed yet.")


def _say_versions(expert: str, file: str, limit: int, home: Path | None, *, as_json: bool) -> None:
    from colleague.cli.hosting import with_database
    from colleague.cli.output import say_json, say_table
    from colleague.experts.workspace.file_history import version_document, versions_of

    owner = _owner(expert)
    found = with_database(
        home, lambda database: database.read(lambda tx: versions_of(tx, owner, file, limit=limit))
    )
    documents = [version_document(version) for version in found]
    if as_json:
        say_json(documents)
    else:
        say_table(("VERSION", "WRITTEN", "RUN", "BYTES"), map(_row, documents))


def _row(document: dict[str, Any]) -> tuple[str, str, str, str]:
    from colleague.store.ids import short

    run = short(document["run_id"]) if document["run_id"] else "a person"
    return str(document["version"]), document["written_at"], run, f"{document['size']:,}"


def _owner(name: str) -> str:
    """Whose versions are meant: `main` is the main agent, since no expert can be called so."""
    from colleague.agent.main_agent import FILES_OWNER, OWNER

    return FILES_OWNER if name == OWNER else name


def _restored(expert: str, file: str, version: int, home: Path | None) -> Written:
    from colleague.agent.tool import UnknownEnd
    from colleague.agent.tools.versioned import VersionedTree
    from colleague.cli.hosting import opened, with_database
    from colleague.errors import ColleagueError
    from colleague.experts.workspace.file_history import find_file
    from colleague.store.tx import Database

    place, settings = opened(home)
    tree = _tree(place, settings, expert)

    async def work(database: Database) -> Written:
        owner = _owner(expert)
        key = await database.read(lambda tx: find_file(tx, owner, file))
        files = VersionedTree(tree, database, owner, place.state / "file-locks")
        return await files.restore(key.path, version)

    try:
        return with_database(home, work, writes=True)
    except UnknownEnd as error:
        raise ColleagueError(
            f"it is not certain that {file} was restored ({error})", hint="run the command again"
        ) from error


def _tree(home: Home, settings: Settings, expert: str) -> Tree:
    """The expert's tree. A package that is broken at the moment does not stand in the way."""
    from colleague.agent.main_agent import OWNER, main_tree
    from colleague.experts.expert import find_expert
    from colleague.experts.restrictions import ExpertRestrictions
    from colleague.experts.workspace.tree import expert_tree
    from colleague.experts.workspace.workspace import Workspace

    if expert == OWNER:
        return main_tree(home, settings, ExpertRestrictions(home, settings))
    root = find_expert(home, expert).root
    return expert_tree(root, Workspace.of(settings.workspace, expert), private=())
