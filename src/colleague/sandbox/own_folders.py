"""The folders that sandboxes have of their own: who uses one, since when, and removing those not used."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.files import write_atomic
from colleague.sandbox.session_sandbox import (
    SessionSandbox,
    sandbox_of,
    sandbox_settings,
    sandboxes,
)
from colleague.session_key import SessionKey

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

RECORD = ".sandbox.json"
_REMOVED = ".removed-"
_HOUR, _DAY = 3600.0, 86_400.0


@dataclass(frozen=True)
class OwnFolder:
    """One folder, as its record beside it says. Without a record a folder is none of ours."""

    folder: Path
    session_key: str
    """The session that used it last."""
    created_at: float
    used_at: float

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def agent_id(self) -> str:
        return SessionKey.parse(self.session_key).agent_id


def note_use(sandbox: SessionSandbox, session_key: str, now: float | None = None) -> None:
    """Makes the folder when there is none, and writes down that it is used."""
    now = time.time() if now is None else now
    known = _read(sandbox.folder)
    sandbox.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    record = {
        "session_key": session_key,
        "created_at": known.created_at if known else now,
        "used_at": now,
    }
    write_atomic(_record(sandbox.folder), json.dumps(record))


def own_folders(home: Home, settings: Settings) -> list[OwnFolder]:
    """All that there are, by name."""
    return [found for root in _roots(home, settings) for found in _in(root)]


def _roots(home: Home, settings: Settings) -> list[Path]:
    agents = ["main", *(each.id for each in settings.agents.all)]
    return list(dict.fromkeys(sandboxes(home, sandbox_settings(settings, each)) for each in agents))


def _in(root: Path) -> Iterator[OwnFolder]:
    for record in sorted(root.glob(f"*{RECORD}")):
        folder = record.with_name(record.name.removesuffix(RECORD))
        if folder.is_dir() and not folder.is_symlink() and (found := _read(folder)):
            yield found


def due(found: OwnFolder, settings: Settings, now: float | None = None) -> str:
    """Why it is to be removed, as sandbox.prune of its agent says; empty when it stays."""
    now = time.time() if now is None else now
    prune = sandbox_settings(settings, found.agent_id).prune
    if prune.idle_hours and now - found.used_at >= prune.idle_hours * _HOUR:
        return f"not used for {prune.idle_hours} hours"
    if prune.max_age_days and now - found.created_at >= prune.max_age_days * _DAY:
        return f"made {prune.max_age_days} days ago"
    return ""


def names_in_use(home: Home, settings: Settings, session_keys: Collection[str]) -> set[str]:
    """The sandboxes of these sessions."""
    found = (
        sandbox_of(home, settings.for_agent(SessionKey.parse(key).agent_id), key) for key in session_keys
    )
    return {each.name for each in found if each}


def remove_folder(found: OwnFolder) -> bool:
    """False when it was used meanwhile. A folder that is half removed has another name, so that no session
    works in it."""
    if _read(found.folder) != found:
        return False
    gone = found.folder.with_name(f"{_REMOVED}{found.name}-{os.urandom(4).hex()}")
    found.folder.rename(gone)
    _record(found.folder).unlink(missing_ok=True)
    shutil.rmtree(gone, ignore_errors=True)
    return True


def remove_rest(home: Home, settings: Settings) -> None:
    """What a crash left of folders that were being removed."""
    for root in _roots(home, settings):
        for left in root.glob(f"{_REMOVED}*"):
            shutil.rmtree(left, ignore_errors=True)


def _record(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{RECORD}")


def _read(folder: Path) -> OwnFolder | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(_record(folder).read_bytes())
        return OwnFolder(folder, record["session_key"], record["created_at"], record["used_at"])
    return None
