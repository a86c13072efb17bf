"""Everything a process needs to do work on a home, put together in one place."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from colleague.agent.advance import Advancer
from colleague.agent.conversation import Result
from colleague.agent.events import Bus
from colleague.agent.history import SessionHistory
from colleague.agent.main_agent import MainAgent
from colleague.agent.models.connections import Connections
from colleague.agent.payload_log import PayloadLog
from colleague.agent.run_spec import Assembler, RunSpec
from colleague.channels.channel_list import channels_of
from colleague.channels.message_tool import MessageTools
from colleague.clock import Clock
from colleague.clock_file import home_clock, remembered
from colleague.config import Settings
from colleague.duration import parse_duration
from colleague.experts.delivery.sender import OutboxSender, channels
from colleague.experts.experts_md import refresh_catalogue
from colleague.experts.launch_acceptance import accept_all, held_servers
from colleague.experts.restrictions import ExpertRestrictions
from colleague.experts.runs.assembly import ExpertRuns
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.workspace.cleanup import remove_leftovers
from colleague.home import LOCK_SECONDS, Home
from colleague.logs import logging_to
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.servers import Servers
from colleague.protected import require_safe_workspace
from colleague.sessions.proposals_tool import ProposalTools
from colleague.store.journal import finish_call, get_call
from colleague.store.lanes import with_earlier
from colleague.store.open_database import open_database
from colleague.store.run import Run, get_run
from colleague.store.sweep import release_all
from colleague.store.tx import Database
from colleague.store.worker import Worker
from colleague.triggers.cron_tool import CronTools

SHORTEST_LOOK, LONGEST_LOOK = 0.02, 0.25


@dataclass(frozen=True)
class AssemblerByKind:
    """A run's kind, never its name, decides who assembles it: the main agent, or an expert."""

    main: MainAgent
    experts: ExpertRuns

    async def assemble(self, run: Run) -> RunSpec:
        owner: Assembler = self.experts if run.kind == "expert" else self.main
        return await owner.assemble(run)

    def with_settings(self, settings: Settings) -> AssemblerByKind:
        """The same agents, for what is advanced from now on."""
        restrictions = ExpertRestrictions(self.main.home, settings)
        main = replace(self.main, settings=settings, restrictions=restrictions)
        return AssemblerByKind(main, replace(self.experts, settings=settings))


@dataclass(frozen=True)
class Host:
    """An open home: its database, its servers and a worker for its runs."""

    database: Database
    servers: Servers
    bus: Bus
    advancer: Advancer
    limit: int
    keep_ms: int | None = None
    sender: OutboxSender | None = None

    async def advance_only(self, run_ids: Collection[str]) -> list[Run]:
        """Works on these runs until each is done, waiting, or stands behind a waiting one; returns them.

        What stands before them in their lanes, left by a crash, is finished first: nobody else would. What
        they have to tell people is delivered."""
        only = await self.database.read(lambda tx: with_earlier(tx, run_ids))
        worker = Worker(self.database, self.advancer, limit=self.limit, only=only, keep_ms=self.keep_ms)
        working = asyncio.create_task(worker.run())
        try:
            runs = await self._rest(worker, only)
        finally:
            worker.stop()
            await working
        await self.deliver()
        return runs[: len(run_ids)]

    async def _rest(self, worker: Worker, run_ids: Collection[str]) -> list[Run]:
        """The runs, once none of them can go on by itself. Looks less often the longer nothing happens."""
        pause = SHORTEST_LOOK
        while True:
            if worker.busy:
                pause = SHORTEST_LOOK
            else:
                runs = await self.database.read(lambda tx: [get_run(tx, each) for each in run_ids])
                if not worker.busy and not any(_can_go_on(run) for run in runs):
                    return runs
                pause = min(LONGEST_LOOK, pause * 1.5)
            await asyncio.sleep(pause)

    async def deliver(self) -> None:
        """Sends what waits in the outbox."""
        if self.sender is not None:
            await self.sender.deliver_all()


def _can_go_on(run: Run) -> bool:
    return run.status in ("running", "retrying") or (run.status == "queued" and run.ready)


@asynccontextmanager
async def open_host(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    *,
    wait_seconds: float = LOCK_SECONDS,
    accepts: bool = True,
) -> AsyncIterator[Host]:
    """Opens a home for work. On SQLite this takes the home's lock, so every earlier worker is dead.

    `accepts`: a person starts this, and accepts the MCP servers of the settings by that."""
    environ = os.environ if environ is None else environ
    require_safe_workspace(home, settings)
    alone = settings.experts.database is None
    with (
        home.working(wait_seconds=wait_seconds) if alone else contextlib.nullcontext(),
        logging_to(home.logs),
    ):
        clock = clock or home_clock(home)
        refresh_catalogue(home, settings.workspace)
        database = open_database(home, settings, environ, clock)
        try:
            if alone:
                await database.write(release_all)
            if accepts:
                await accept_all(database, settings)
            held = frozenset[str]() if accepts else await held_servers(database, settings)
            async with remembered(home, clock), _served(home, settings, environ, database, held) as host:
                yield host
        finally:
            await database.close()


@asynccontextmanager
async def _served(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    database: Database,
    held: Collection[str],
) -> AsyncIterator[Host]:
    async def late(key: str, answer: ToolAnswer) -> None:
        await record_late_answer(database, key, answer)

    bus = Bus()
    async with (
        Servers.of(home, settings, environ, on_late=late, held=held) as servers,
        Connections() as connections,
    ):
        history = SessionHistory(database)
        main = MainAgent(
            home,
            settings,
            environ,
            database,
            servers,
            history,
            ExpertRestrictions(home, settings),
            (ProposalTools(database), CronTools(database), MessageTools(channels_of(database))),
        )
        experts = ExpertRuns(home, settings, environ, database, servers, RunPackages(home))
        await main.mend_files()
        await experts.mend_files()
        await remove_leftovers(database, settings.workspace)
        payloads = PayloadLog.of(home.logs, environ)
        advancer = Advancer(database, AssemblerByKind(main, experts), bus, connections, payloads)
        keep_ms = parse_duration(settings.experts.retention).seconds * 1000
        sender = OutboxSender(database, channels(settings.workspace))
        yield Host(database, servers, bus, advancer, settings.experts.max_concurrent_runs, keep_ms, sender)


async def record_late_answer(database: Database, key: str, answer: ToolAnswer) -> None:
    """An answer that came after the call had been given up as unknown."""
    call = await database.read(lambda tx: get_call(tx, key))
    if call is not None:
        result = Result(answer.text, f"mcp:{call.server}/{call.tool}").to_json()
        await database.write(
            lambda tx: finish_call(tx, call.run_id, key, call.sends, result, is_error=answer.is_error)
        )
