"""The versions of an expert's files, as people look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from colleague.clock import iso
from colleague.errors import NotFound
from colleague.packages.folder import normal_path
from colleague.store.tables import file_versions
from colleague.store.tx import Tx
from colleague.store.versions import FileKey, Version, history, latest_version


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
    raise NotFound(
        f"{name} has no version of {file!r}", hint=f"see which files have: colleague state history {name}"
    )


def version_document(version: Version) -> dict[str, Any]:
    return {
        "path": version.key.path,
        "version": version.number,
        "written_at": iso(version.written_at),
        "run_id": version.author.run_id,
        "size": len(version.data),
    }
