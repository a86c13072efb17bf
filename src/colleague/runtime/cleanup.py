"""Removing the working files that nobody needs any more."""

from __future__ import annotations

import asyncio
import json
import logging

from sqlalchemy import select

from colleague.clock import Clock
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.experts.expert import Expert, discover
from colleague.experts.workspace.scratch import forget_scratch, scratchpad_path
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home
from colleague.store.run import Run, get_run
from colleague.store.tables import is_open, runs, sql_literal
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)


async def remove_old_scratch(home: Home, database: Database, settings: Settings, clock: Clock) -> list[str]:
    """Removes working files older than experts.scratchRetention; what a run may still want stays."""
    removed: list[str] = []
    older_than = settings.experts.scratch_retention.milliseconds
    for expert in await asyncio.to_thread(discover, home):
        needed = await database.read(lambda tx, name=expert.name: _needed(tx, name))  # type: ignore[misc]
        kept = await asyncio.to_thread(_paths, expert, needed)
        workspace = Workspace.of(settings.workspace, expert.name)
        gone = await asyncio.to_thread(forget_scratch, workspace, older_than, clock.now(), kept.__contains__)
        if gone:
            log.info("removed %d old working files of %s", len(gone), expert.name)
        removed += gone
    return removed


def _needed(tx: Tx, expert: str) -> list[Run]:
    """Runs that may go on: unfinished ones, and dead letters that a person may retry."""
    unfinished = is_open() | (runs.c.outcome == sql_literal("dead_letter"))
    rows = tx.all(select(runs.c.id).where(runs.c.expert == expert, unfinished))
    return [get_run(tx, row.id) for row in rows]


def _paths(expert: Expert, needed: list[Run]) -> frozenset[str]:
    paths = {f"sessions/{run.id}" for run in needed}
    with_process = [run for run in needed if run.process]
    if with_process:
        try:
            package = expert.load()
        except ColleagueError:
            return frozenset(paths)
        for run in with_process:
            process = package.process(run.process)
            path = scratchpad_path(process, json.loads(run.inputs)) if process else None
            paths |= {path} if path else set()
    return frozenset(paths)
