"""Removing the working files that nobody needs any more."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Collection

from colleague.agent.pictures.media import SCHEME, old_media, remove_media
from colleague.clock import Clock
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.experts.expert import discover
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.workspace.cleanup import skip_unreadable
from colleague.experts.workspace.scratch import forget_scratch, scratchpad_path
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home
from colleague.sandbox.own_folders import due, names_in_use, own_folders, remove_folder, remove_rest
from colleague.store.commands import running_commands
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.tables import calls, file_versions, inbox, is_open, runs, session_items, sql_literal
from colleague.store.tx import Database, Tx

log = logging.getLogger(__name__)

MEDIA_GRACE_SECONDS = 86_400
_HASH = re.compile(r"\b[0-9a-f]{64}\b")


async def remove_old_scratch(home: Home, database: Database, settings: Settings, clock: Clock) -> list[str]:
    """Removes working files older than experts.scratchRetention; what a run may still want stays."""
    removed: list[str] = []
    for expert in await asyncio.to_thread(discover, home):
        with skip_unreadable(f"old working files of {expert.name}"):
            removed += await _remove_old(home, database, settings, clock, expert.name)
    return removed


async def _remove_old(
    home: Home, database: Database, settings: Settings, clock: Clock, expert: str
) -> list[str]:
    needed, written = await database.read(lambda tx: _needed(tx, expert))
    kept = written | await asyncio.to_thread(_scratchpads, RunPackages(home), needed)
    workspace = Workspace.of(settings.workspace, expert)
    older_than = settings.experts.scratch_retention.milliseconds
    gone = await asyncio.to_thread(forget_scratch, workspace, older_than, clock.now(), kept.__contains__)
    if gone:
        log.info("removed %d old working files of %s", len(gone), expert)
    return gone


async def remove_unused_media(home: Home, database: Database, clock: Clock) -> int:
    """Removes pictures that no stored message names any more; those of the last day may get one yet."""
    before = clock.wall() / 1000 - MEDIA_GRACE_SECONDS
    old = await asyncio.to_thread(old_media, home, before)
    if not old:
        return 0
    used = await database.read(media_in_use)
    gone = await asyncio.to_thread(remove_media, home, set(old) - used, before)
    if gone:
        log.info("removed %d pictures that nothing names any more", gone)
    return gone


async def remove_idle_sandboxes(
    home: Home, database: Database, settings: Settings, clock: Clock, *, named: Collection[str] = ()
) -> list[str]:
    """Removes the own folders of sandboxes that sandbox.prune names, or those of these names; never one that
    a run or a command needs."""
    names = dict.fromkeys(named, "a person said so")
    if not named:
        names = await asyncio.to_thread(_idle_sandboxes, home, settings, clock.now() / 1000)
    if not names:
        return []
    keys = await database.read(working_sessions)
    return await asyncio.to_thread(_remove_sandboxes, home, settings, names, keys)


def _idle_sandboxes(home: Home, settings: Settings, now: float) -> dict[str, str]:
    remove_rest(home, settings)
    found = {each.name: due(each, settings, now) for each in own_folders(home, settings)}
    return {name: why for name, why in found.items() if why}


def _remove_sandboxes(home: Home, settings: Settings, names: dict[str, str], keys: list[str]) -> list[str]:
    used = names_in_use(home, settings, keys)
    idle = [each for each in own_folders(home, settings) if each.name in names and each.name not in used]
    gone = [each.name for each in idle if remove_folder(each)]
    for each in gone:
        log.info("removed the sandbox %s with its files: %s", each, names[each])
    return gone


def working_sessions(tx: Tx) -> list[str]:
    """Sessions with a run that has not ended, or a command that runs."""
    keys = [row.session_key for row in tx.all(select(runs.c.session_key).where(is_open()).distinct())]
    keys += [each.session_key for each in running_commands(tx)]
    return [each for each in dict.fromkeys(keys) if each]


def media_in_use(tx: Tx) -> set[str]:
    """The hashes that stand in stored messages, in those that wait, and in what tools made, which an agent
    may bring in a later answer."""
    kept = tx.all(select(session_items.c.attachments).where(session_items.c.attachments.is_not(None)))
    waiting = tx.all(select(inbox.c.arrival))
    made = tx.all(select(calls.c.result).where(calls.c.result.like(f"%{SCHEME}%")))
    return {found for row in (*kept, *waiting, *made) for found in _HASH.findall(row[0])}


def _needed(tx: Tx, expert: str) -> tuple[list[Run], set[str]]:
    """Runs that may go on and what they wrote: unfinished ones, and dead letters that may be retried."""
    unfinished = (runs.c.expert == expert) & (is_open() | (runs.c.outcome == sql_literal("dead_letter")))
    found = [get_run(tx, row.id) for row in tx.all(select(runs.c.id).where(unfinished))]
    by_them = file_versions.c.run_id.in_(select(runs.c.id).where(unfinished))
    files = tx.all(select(file_versions.c.path).where(file_versions.c.expert == expert, by_them))
    return found, {*(row.path for row in files), *(f"sessions/{run.id}" for run in found)}


def _scratchpads(packages: RunPackages, needed: list[Run]) -> set[str]:
    """The working files of their processes, which an earlier run may have written."""
    paths = set()
    for run in needed:
        try:
            process = packages.package(run.expert, run.digest).process(run.process)
        except ColleagueError:
            continue
        paths.add(scratchpad_path(process, json.loads(run.inputs)) if process else None)
    return {path for path in paths if path is not None}
