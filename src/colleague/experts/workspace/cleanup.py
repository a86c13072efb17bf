"""Working files that outlived their run: the process died after the run had completed, before its cleanup."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colleague.errors import NotFound
from colleague.experts.workspace.scratch import SCRATCH, remove_scratch
from colleague.experts.workspace.workspace import Workspace, remove_session
from colleague.shortage import raise_shortage
from colleague.store.run import get_run
from colleague.store.tx import Database, Tx
from colleague.store.versions import FileKey, latest_version

log = logging.getLogger(__name__)


@contextmanager
def skip_unreadable(what: str) -> Iterator[None]:
    """Passes over what cannot be read or removed, and says so: it keeps nobody from cleaning up the rest."""
    try:
        yield
    except OSError as error:
        raise_shortage(error)
        log.error("the %s cannot be cleaned up: %s", what, error)


async def remove_leftovers(database: Database, workspace: Path) -> None:
    """Removes the scratch and session files of completed runs, of all experts. Everything else stays."""
    for root in await asyncio.to_thread(_folders, Workspace.of(workspace, "").root):
        with skip_unreadable(f"working files of {root.name}"):
            await _remove(database, Workspace(root))


async def _remove(database: Database, workspace: Workspace) -> None:
    paths = await asyncio.to_thread(_files, workspace.scratch)
    run_ids = [folder.name for folder in await asyncio.to_thread(_folders, workspace.sessions)]
    if not paths and not run_ids:
        return

    def over(tx: Tx) -> tuple[list[str], list[str]]:
        scratch = [path for path in paths if _completed(tx, _writer(tx, workspace.root.name, path))]
        return scratch, [run_id for run_id in run_ids if _completed(tx, run_id)]

    scratch, sessions = await database.read(over)
    await asyncio.to_thread(remove_scratch, workspace, scratch)
    for run_id in sessions:
        await asyncio.to_thread(remove_session, workspace, run_id)


def _folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()] if parent.is_dir() else []


def _files(scratch: Path) -> list[str]:
    found = (path for path in scratch.rglob("*") if path.is_file())
    return [f"{SCRATCH}/{path.relative_to(scratch).as_posix()}" for path in found]


def _writer(tx: Tx, expert: str, path: str) -> str | None:
    """The run that wrote a file last; None when it was a person, or nobody knows."""
    version = latest_version(tx, FileKey(expert, path))
    return version.author.run_id if version else None


def _completed(tx: Tx, run_id: str | None) -> bool:
    try:
        return run_id is not None and get_run(tx, run_id).outcome == "completed"
    except NotFound:
        return False
