"""The versions of an expert's files, as people look at them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from colleague.clock import iso
from colleague.errors import NotFound
from colleague.home import Home
from colleague.packages.folder import normal_path
from colleague.store.run import Run, get_run
from colleague.store.sql import func, select
from colleague.store.tables import file_versions
from colleague.store.tx import Tx
from colleague.store.versions import FileKey, Version, get_version, hash_of, history, latest_version
from colleague.suggest import did_you_mean


@dataclass(frozen=True)
class FileHistory:
    """A file that has versions."""

    path: str
    versions: int
    written_at: int

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "versions": self.versions, "written_at": iso(self.written_at)}


def files_with_versions(tx: Tx, expert: str) -> list[FileHistory]:
    """Every file of an expert that was ever changed, by path."""
    columns = file_versions.c
    query = (
        select(columns.path, func.count().label("versions"), func.max(columns.written_at).label("newest"))
        .where(columns.expert == expert)
        .group_by(columns.path)
        .order_by(columns.path)
    )
    return [FileHistory(row.path, row.versions, row.newest) for row in tx.all(query)]


def versions_of(tx: Tx, expert: str, file: str, *, limit: int = 100) -> list[Version]:
    """The newest versions of a file, newest first. Raises NotFound when it has none."""
    return history(tx, find_file(tx, expert, file), limit=limit)


def find_file(tx: Tx, expert: str, file: str) -> FileKey:
    """A file as a person names it: by its path, or without the state/ in front."""
    path = normal_path(file) or file
    for each in (FileKey(expert, path), FileKey(expert, f"state/{path}")):
        if latest_version(tx, each) is not None:
            return each
    name = expert.removeprefix("agent:")
    known = {each.path.removeprefix("state/") for each in files_with_versions(tx, expert)}
    near = did_you_mean(path.removeprefix("state/"), known)
    hint = near or f"see which files have: colleague state history {name}"
    raise NotFound(f"{name} has no version of {file!r}", hint=hint)


def shown_version(tx: Tx, expert: str, file: str, number: int | None) -> Version:
    """One version, the newest without a number. Raises NotFound."""
    key = find_file(tx, expert, file)
    newest = latest_version(tx, key)
    return newest if number is None and newest is not None else get_version(tx, key, number or 1)


def version_document(tx: Tx, home: Home, version: Version) -> dict[str, Any]:
    return {
        "author": author_of(tx, home, version),
        "path": version.key.path,
        "version": version.number,
        "written_at": iso(version.written_at),
        "run_id": version.author.run_id,
        "size": len(version.data),
    }


def difference(before: Version, after: Version) -> list[str]:
    """The lines of a unified diff; none when the two are equal."""
    first, second = (f"{each.key.path} version {each.number}" for each in (before, after))
    return list(unified_diff(before.text.splitlines(), after.text.splitlines(), first, second, lineterm=""))


def author_of(tx: Tx, home: Home, version: Version) -> str:
    """Who wrote a version: a run by its id, the package whose template it is, or a person."""
    if version.author.run_id:
        return version.author.run_id
    return _package_of(tx, home, version) or "a person"


def _package_of(tx: Tx, home: Home, version: Version) -> str:
    """A first version with the text of the template, in the package of the first run that changed it."""
    if version.number != 1:
        return ""
    later = [each for each in history(tx, version.key, limit=1_000_000) if each.author.run_id]
    run = _run(tx, later[-1].author.run_id or "") if later else None
    if run is None or not run.digest:
        return ""
    template = home.snapshots / run.digest / version.key.path
    same = template.is_file() and hash_of(template.read_bytes()) == version.hash
    return f"package {run.expert} {run.version}" if same else ""


def _run(tx: Tx, run_id: str) -> Run | None:
    with contextlib.suppress(NotFound):
        return get_run(tx, run_id)
    return None
