"""The sandboxes that have a folder of their own, as documents."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from colleague.clock import iso
from colleague.sandbox.own_folders import OwnFolder, due, names_in_use, own_folders

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home


class SandboxFolderDocument(TypedDict):
    """A line of `colleague sandbox list`. `due` says why the next pruning removes it."""

    name: str
    folder: str
    session: str
    bytes: int
    created_at: str | None
    used_at: str | None
    in_use: bool
    due: str | None


def list_folders(
    home: Home, settings: Settings, session_keys: Collection[str], now: float
) -> list[SandboxFolderDocument]:
    """`session_keys` are the sessions that work now, `now` is in seconds."""
    used = names_in_use(home, settings, session_keys)
    return [_document(each, settings, now, in_use=each.name in used) for each in own_folders(home, settings)]


def _document(found: OwnFolder, settings: Settings, now: float, *, in_use: bool) -> SandboxFolderDocument:
    return {
        "name": found.name,
        "folder": str(found.folder),
        "session": found.session_key,
        "bytes": _size(found.folder),
        "created_at": iso(round(found.created_at * 1000)),
        "used_at": iso(round(found.used_at * 1000)),
        "in_use": in_use,
        "due": (due(found, settings, now) or None) if not in_use else None,
    }


def _size(folder: Path) -> int:
    return sum(
        os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - many files
        for place, _, names in os.walk(folder)
        for name in names
    )
