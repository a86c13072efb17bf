"""colleague state: what an expert's files were before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from colleague.cli.options import HomeOption, JsonOption
from colleague.cli.shell_completion import complete_expert

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.tx import Tx
    from colleague.store.versions import Version

T = TypeVar("T")

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
    from colleague.cli.client import with_client
    from colleague.cli.output import TICK, say

    with _explained(home, expert, file):
        written = with_client(home, lambda using: using.service.restore(expert, file, version))
    if written["version"] is None:
        say(f"{written['path']} has the text of version {version} already")
    else:
        say(f"{TICK} {written['path']} is as in version {version} again, now version {written['version']}")


@app.command()
def show(
    expert: NameArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="A number that history shows.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """The text of a version; the newest unless you say which. A file that no run has changed is as it is."""
    from colleague.cli.client import opened
    from colleague.cli.output import say, say_json
    from colleague.errors import NotFound
    from colleague.experts.workspace.file_history import version_document

    place, settings = opened(home)

    def document(tx: Tx) -> dict[str, Any]:
        found = _version(tx, expert, file, version)
        return version_document(tx, place, found) | {"text": found.text}

    try:
        with _explained(home, expert, file):
            shown = _read(home, document)
    except NotFound:
        unchanged = _unchanged(place, settings, expert, file) if version is None else None
        if unchanged is None:
            raise
        shown = unchanged
    if as_json:
        say_json(shown)
    else:
        say(shown["text"].removesuffix("\n"))


def _unchanged(home: Home, settings: Settings, expert: str, file: str) -> dict[str, Any] | None:
    """A file without versions."""
    from colleague.experts.workspace.restore import current_file

    found = current_file(home, settings, expert, file)
    if found is None:
        return None
    text = found.data.decode("utf-8", errors="replace")
    return {"path": found.path, "version": None, "size": len(found.data), "text": text}


@app.command()
def diff(
    expert: NameArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    one: Annotated[int | None, typer.Argument(metavar="V1", min=1, help="The one before the last.")] = None,
    other: Annotated[int | None, typer.Argument(metavar="V2", min=1, help="The newest.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What changed between two versions, as a unified diff."""
    from colleague.cli.output import say, say_json
    from colleague.experts.workspace.file_history import difference

    def pair(tx: Tx) -> tuple[Version, Version]:
        after = _version(tx, expert, file, other)
        return _version(tx, expert, file, one or max(1, after.number - 1)), after

    with _explained(home, expert, file):
        before, after = _read(home, pair)
    lines = difference(before, after)
    if as_json:
        said = {"path": after.key.path, "from": before.number, "to": after.number, "diff": "\n".join(lines)}
        say_json(said)
    else:
        say("\n".join(lines) or f"{after.key.path}: versions {before.number} and {after.number} are equal")


@contextmanager
def _explained(home: Path | None, expert: str, file: str) -> Iterator[None]:
    """Says why there is no version: no such expert, no such file, or a file that no run has changed."""
    from colleague.cli.client import opened
    from colleague.errors import NotFound
    from colleague.experts.workspace.restore import current_file

    try:
        yield
    except NotFound as error:
        if not error.message.endswith(f"has no version of {file!r}"):
            raise
        found = current_file(*opened(home), expert, file)  # raises for an expert that is not there
        if found is None:
            raise
        hint = f"see its text: colleague state show {expert} {file}"
        raise NotFound(f"{found.path} has no versions yet: no run has changed it", hint=hint) from None


def _version(tx: Tx, expert: str, file: str, number: int | None) -> Version:
    from colleague.experts.workspace.file_history import shown_version
    from colleague.experts.workspace.restore import files_owner

    return shown_version(tx, files_owner(expert), file, number)


def _read(home: Path | None, work: Callable[[Tx], T]) -> T:
    from colleague.cli.client import with_database

    return with_database(home, lambda database: database.read(work))


def _say_files(expert: str, home: Path | None, *, as_json: bool) -> None:
    from colleague.cli.client import opened, with_database
    from colleague.cli.output import say, say_json, say_table
    from colleague.cli.times import moment
    from colleague.experts.expert import find_expert
    from colleague.experts.workspace.file_history import files_with_versions
    from colleague.experts.workspace.restore import files_owner

    owner = files_owner(expert)
    found = with_database(home, lambda database: database.read(lambda tx: files_with_versions(tx, owner)))
    if not found and owner == expert:
        find_expert(opened(home)[0], expert)
    documents = [each.to_json() for each in found]
    if as_json:
        say_json(documents)
    elif documents:
        rows = [(d["path"], str(d["versions"]), moment(d["written_at"])) for d in documents]
        say_table(("FILE", "VERSIONS", "WRITTEN"), rows)
    else:
        say(f"No file of {expert} has been changed yet.")


def _say_versions(expert: str, file: str, limit: int, home: Path | None, *, as_json: bool) -> None:
    from colleague.cli.client import opened
    from colleague.cli.output import note, say_json, say_table
    from colleague.experts.workspace.file_history import version_document, versions_of
    from colleague.experts.workspace.restore import files_owner

    owner, (place, _) = files_owner(expert), opened(home)

    def read(tx: Tx) -> list[dict[str, Any]]:
        found = versions_of(tx, owner, file, limit=limit + 1)
        return [version_document(tx, place, version) for version in found]

    with _explained(home, expert, file):
        documents = _read(home, read)
    if as_json:
        say_json(documents[:limit])
    else:
        say_table(("VERSION", "WRITTEN", "BY", "BYTES"), map(_row, documents[:limit]))
    if len(documents) > limit:
        note(f"there are {documents[limit]['version']} older ones: add --limit {documents[0]['version']}")


def _row(document: dict[str, Any]) -> tuple[str, str, str, str]:
    from colleague.cli.times import moment
    from colleague.run_document import short

    author = short(document["run_id"]) if document["run_id"] else document["author"]
    return str(document["version"]), moment(document["written_at"]), author, f"{document['size']:,}"
