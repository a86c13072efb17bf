"""Runs that could go on while nobody works on their home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.home import Home
from colleague.runtime.gateway_file import gateway_runs

if TYPE_CHECKING:
    from colleague.store.run import Run
    from colleague.store.tx import Database, Tx

OPEN = ("queued", "running", "retrying")


def abandoned_lines(home: Path | None, documents: Sequence[Mapping[str, object]]) -> list[str]:
    """What to do about those of these runs that nobody will go on with."""
    wanted = [str(each["id"]) for each in documents if each["status"] in OPEN]
    if wanted and gateway_runs(Home.find(home)):
        return []
    left = _abandoned(home, wanted) if wanted else []
    if len(left) > 1:
        cure = "colleague serve, or colleague run resume ID"
        return [f"{len(left)} runs can go on; nobody works on them: {cure}"]
    return [_line(run) for run in left]


def _abandoned(home: Path | None, run_ids: Sequence[str]) -> list[Run]:
    from colleague.cli.client import opened, with_database
    from colleague.runtime.presence import nobody_works

    place, settings = opened(home)

    async def look(database: Database) -> list[Run]:
        """The runs are read last: whoever worked on them may just have ended."""
        if not await nobody_works(place, settings, database):
            return []
        return await database.read(lambda tx: [run for run in _open(tx, run_ids) if not _waits(tx, run)])

    return with_database(home, look)


def _open(tx: Tx, run_ids: Sequence[str]) -> list[Run]:
    from colleague.store.run import get_run

    return [run for run in (get_run(tx, each) for each in run_ids) if run.status in OPEN]


def _waits(tx: Tx, run: Run) -> bool:
    """Whether it stands behind a run that waits for a person."""
    from colleague.store.report import run_ahead

    ahead = run_ahead(tx, run)
    return ahead is not None and ahead.status == "waiting"


def _line(run: Run) -> str:
    from colleague.run_document import short

    ending = short(run.id)
    state = "left by a process that is gone" if run.status == "running" else run.status
    return f"run {ending} is {state}; nobody works on it: colleague serve, or colleague run resume {ending}"
