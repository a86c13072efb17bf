"""Everything a process needs to do work on a home, put together in one place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from colleague.agent.advance import Advancer
from colleague.agent.browser.browser_tool import BrowserTools
from colleague.agent.browser.browsers import Browsers
from colleague.agent.call_result import Result
from colleague.agent.canvas.canvas_tool import CanvasTools
from colleague.agent.chat_place import Chats
from colleague.agent.commands.command_tools import CommandTools
from colleague.agent.commands.left_containers import end_left_containers
from colleague.agent.commands.running_commands import RunningCommands, end_left_commands
from colleague.agent.events import EventBus
from colleague.agent.history import SessionHistory
from colleague.agent.main_agent import MainAgent, MoreTools
from colleague.agent.models.connections import Connections
from colleague.agent.models.oauth import TokenKeeper
from colleague.agent.pictures.image_tool import ImageTools
from colleague.agent.run_spec import Assembler, RunSpec
from colleague.agent.speech.tts_tool import SpeechTools
from colleague.agent.tracing.tracer import tracing
from colleague.agent.web.web_access import WebAccess
from colleague.channels.channel_list import channel_capabilities, channels_of
from colleague.channels.channel_threads import ChannelThreads
from colleague.channels.message_tool import MessageTools
from colleague.clock import Clock
from colleague.config import Settings
from colleague.experts.delivery.sender import OutboxSender, channels
from colleague.experts.experts_md import refresh_catalogue
from colleague.experts.launch_acceptance import accept_all, held_servers
from colleague.experts.restrictions import ExpertRestrictions
from colleague.experts.runs.assembly import ExpertRuns
from colleague.experts.runs.expert_sessions import ExpertMessages
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.workspace.cleanup import remove_leftovers
from colleague.home import LOCK_SECONDS, Home
from colleague.hooks.events import SessionEnd, SessionStart
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.servers import Servers
from colleague.plain_text import plain
from colleague.plugins.delivery_channel import PluginDeliveries
from colleague.plugins.message_receiver import MessageReceiver
from colleague.plugins.plugin_set import PluginSet, open_plugins
from colleague.plugins.skill_folders import plugin_skill_folders
from colleague.runtime.gateway_tool import GatewayTools
from colleague.runtime.process_restart import ProcessRestart
from colleague.runtime.run_events import RunWatchers
from colleague.runtime.working_home import WorkingHome, open_working_home
from colleague.sandbox.backends import docker_backends
from colleague.sessions.messages import denied_by_policy
from colleague.sessions.proposals_tool import ProposalTools
from colleague.sessions.session_tools import SessionTools
from colleague.store.announce import announce_all
from colleague.store.claims import KindLimits
from colleague.store.delegations import family_of
from colleague.store.journal import finish_call, get_call
from colleague.store.lanes import with_earlier
from colleague.store.outbox import waiting_announcements
from colleague.store.run import Run, get_run
from colleague.store.tx import Database, Tx
from colleague.store.worker import Worker
from colleague.triggers.cron_tool import CronTools

log = logging.getLogger(__name__)

SHORTEST_LOOK, LONGEST_LOOK = 0.02, 0.25
DELIVER_SECONDS = 1.0


class ProcessParts(NamedTuple):
    """What gives tools to agents and lives as long as the process."""

    plugins: PluginSet
    browsers: Browsers
    commands: RunningCommands
    restart: ProcessRestart
    plugin_skills: Sequence[Path] = ()


@dataclass(frozen=True)
class AssemblerByKind:
    """A run's kind, never its name, decides who assembles it: the main agent, or an expert."""

    main: MainAgent
    experts: ExpertRuns
    parts: ProcessParts

    async def assemble(self, run: Run) -> RunSpec:
        owner: Assembler = self.experts if run.kind == "expert" else self.main
        return await owner.assemble(run)

    def with_settings(self, settings: Settings) -> AssemblerByKind:
        """The same agents, for what is advanced from now on."""
        restrictions = ExpertRestrictions(self.main.home, settings)
        more = _more_tools(self.main.home, settings, self.main.environ, self.main.database, self.parts)
        main = replace(self.main, settings=settings, restrictions=restrictions, more_tools=more)
        return AssemblerByKind(main, replace(self.experts, settings=settings), self.parts)


@dataclass(frozen=True)
class Host:
    """An open home: its database, its servers, its plugins and a worker for its runs."""

    database: Database
    servers: Servers
    bus: EventBus
    advancer: Advancer
    limit: int
    keep_ms: int | None = None
    sender: OutboxSender | None = None
    limits: KindLimits = field(default_factory=dict)
    hooks: PluginHooks = NO_HOOKS
    receiver: MessageReceiver = field(default_factory=MessageReceiver)
    """Where plugins bring messages of their channels; closed until somebody takes them."""

    async def opened(self) -> Host:
        """As a `HostSource`: it is open already."""
        return self

    @property
    def main_agent(self) -> MainAgent | None:
        """None where something else assembles the runs."""
        agents = self.advancer.assembler
        return agents.main if isinstance(agents, AssemblerByKind) else None

    async def advance_only(self, run_ids: Collection[str]) -> list[Run]:
        """Works on these runs until each is done, waiting, or stands behind a waiting one; returns them.

        What stands before them in their lanes, left by a crash, is finished first: nobody else would. What
        they hand over is worked on, too. What they have to tell people is delivered."""
        only = set(await self.database.read(lambda tx: _family(tx, run_ids)))
        worker = Worker(
            self.database,
            self.advancer,
            limit=self.limit,
            only=only,
            limits=self.limits,
            keep_ms=self.keep_ms,
        )
        working = asyncio.create_task(worker.run())
        try:
            await self._rest(worker, only, run_ids)
        finally:
            worker.stop()
            await working
        await self.deliver()
        return await self.database.read(lambda tx: [get_run(tx, each) for each in run_ids])

    async def _rest(self, worker: Worker, only: set[str], run_ids: Collection[str]) -> None:
        """Returns once none of the runs can go on by itself, nor what they handed over, which joins them.
        Looks less often the longer nothing happens."""
        pause = SHORTEST_LOOK
        while True:
            told = await announce_all(self.database)
            runs, to_tell = await self.database.read(lambda tx: _standing(tx, run_ids))
            if joined := {run.id for run in runs} - only:
                only |= joined
                worker.wake()
            if told or joined or to_tell:
                pause = SHORTEST_LOOK
            elif not worker.busy and not any(_can_go_on(run) for run in runs):
                return
            pause = min(LONGEST_LOOK, pause * 1.5)
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[RunWatchers]:
        """Works on every run of the home while the block lasts, also on those that begin meanwhile, and
        delivers what they tell. Leaving the block gives back what is under way."""
        worker = Worker(
            self.database, self.advancer, limit=self.limit, limits=self.limits, keep_ms=self.keep_ms
        )
        watchers = RunWatchers(self.bus)
        tasks = [asyncio.create_task(worker.run()), asyncio.create_task(self._deliver_often())]
        try:
            yield watchers
        finally:
            watchers.stop_watching()
            worker.stop()
            tasks[1].cancel()
            await asyncio.wait(tasks)

    async def _deliver_often(self) -> None:
        while True:
            await self.deliver()
            await asyncio.sleep(DELIVER_SECONDS)

    async def deliver(self) -> None:
        """Sends what waits in the outbox."""
        if self.sender is not None:
            await self.sender.deliver_all()


def _family(tx: Tx, run_ids: Collection[str]) -> list[str]:
    """The runs with all that they handed over, and whatever stands before one of them in its lane."""
    return with_earlier(tx, family_of(tx, list(run_ids)))


def _standing(tx: Tx, run_ids: Collection[str]) -> tuple[list[Run], bool]:
    """The runs with what they handed over, and whether something that came of it is still to be told."""
    return [get_run(tx, each) for each in _family(tx, run_ids)], bool(waiting_announcements(tx))


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
    restart: ProcessRestart | None = None,
) -> AsyncIterator[Host]:
    """Opens a home for work. On SQLite this takes the home's lock, so every earlier worker is dead.

    `accepts`: a person starts this, and accepts the MCP servers of the settings by that."""
    opening = open_working_home(home, settings, environ, clock, wait_seconds=wait_seconds)
    async with opening as working, host_of(working, accepts=accepts, restart=restart) as host:
        yield host


@asynccontextmanager
async def host_of(
    working: WorkingHome, *, accepts: bool = True, restart: ProcessRestart | None = None
) -> AsyncIterator[Host]:
    """What works on the runs of a home that is held already."""
    home, settings, database = working.home, working.settings, working.database
    refresh_catalogue(home, settings.workspace)
    if accepts:
        await accept_all(database, settings)
    held = frozenset[str]() if accepts else await held_servers(database, settings)
    async with _served(home, settings, working.environ, database, held, restart) as host:
        yield host


@asynccontextmanager
async def _served(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    database: Database,
    held: Collection[str],
    restart: ProcessRestart | None,
) -> AsyncIterator[Host]:
    async def late(key: str, answer: ToolAnswer) -> None:
        await record_late_answer(database, key, answer)

    bus = EventBus()
    keep_ms = settings.experts.retention.milliseconds
    async with (
        tracing(home.logs, environ, keep_seconds=keep_ms / 1000) as tracer,
        Servers.of(home, settings, environ, on_late=late, held=held) as servers,
        Connections(TokenKeeper(home.state / "oauth")) as connections,
        open_plugins(home, settings, environ) as plugins,
        Browsers() as browsers,
        RunningCommands(database) as commands,
    ):
        skills = await asyncio.to_thread(plugin_skill_folders, home, settings)
        parts = ProcessParts(plugins, browsers, commands, restart or ProcessRestart(), skills)
        main, experts = _assemblers(home, settings, environ, database, servers, parts)
        await _end_left_work(home, settings, environ, database)
        await main.mend_files()
        await experts.mend_files()
        await remove_leftovers(database, settings.workspace)
        bus.watch(tracer.on_event)
        if plugins.hooks.has(SessionStart.hook) or plugins.hooks.has(SessionEnd.hook):
            database.observers.append(plugins.hooks.tell)
        agents = AssemblerByKind(main, experts, parts)
        advancer = Advancer(database, agents, bus, connections, tracer, plugins.hooks)
        yield Host(
            database,
            servers,
            bus,
            advancer,
            settings.experts.max_concurrent_runs,
            keep_ms,
            _sender(database, settings, parts),
            kind_limits(settings),
            plugins.hooks,
            plugins.receiver,
        )


def _assemblers(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    database: Database,
    servers: Servers,
    parts: ProcessParts,
) -> tuple[MainAgent, ExpertRuns]:
    """Of the main agent's turns, and of the experts' runs."""
    history, channels = SessionHistory(database), parts.plugins.channels
    main = MainAgent(
        home,
        settings,
        environ,
        database,
        servers,
        history,
        ExpertRestrictions(home, settings),
        _more_tools(home, settings, environ, database, parts),
        parts.plugin_skills,
        Chats(channel_capabilities(channels), denied_by_policy),
        ChannelThreads(channels),
    )
    experts = ExpertRuns(
        home,
        settings,
        environ,
        database,
        servers,
        RunPackages(home),
        history=history,
        plugin_skills=parts.plugin_skills,
        hooks=parts.plugins.hooks,
    )
    return main, experts


async def _end_left_work(
    home: Home, settings: Settings, environ: Mapping[str, str], database: Database
) -> None:
    """Ends what a process that was killed has left running."""
    for left in await end_left_commands(database, alone=settings.experts.database is None):
        log.warning("a command of before was ended; what it did is not known: %s", plain(left)[:200])
    await end_left_containers(docker_backends(home, settings, environ))


def _sender(database: Database, settings: Settings, parts: ProcessParts) -> OutboxSender:
    deliveries = {name: PluginDeliveries(each) for name, each in parts.plugins.channels.items()}
    places = {**deliveries, **channels(settings.workspace)}
    return sender_with(OutboxSender(database, places, hooks=parts.plugins.hooks), settings)


def sender_with(sender: OutboxSender, settings: Settings) -> OutboxSender:
    """The same sender, for what is sent from now on."""
    timeout_ms = settings.agents.defaults.subagents.announce_timeout_ms
    return replace(sender, main_turn=settings.experts.main_turn, announce_timeout_ms=timeout_ms)


def kind_limits(settings: Settings) -> KindLimits:
    """How many turns of agents and of sub-agents may be at work at once."""
    defaults = settings.agents.defaults
    return {"agent": defaults.max_concurrent, "subagent": defaults.subagents.max_concurrent}


def _more_tools(
    home: Home, settings: Settings, environ: Mapping[str, str], database: Database, parts: ProcessParts
) -> tuple[MoreTools, ...]:
    """What agents have beside files and servers. Of two tools with one name the first counts."""
    return (
        CommandTools(home, environ, parts.commands, ExpertRestrictions(home, settings), parts.plugin_skills),
        SessionTools(
            database, ExpertMessages(home, settings, environ), ChannelThreads(parts.plugins.channels)
        ),
        ProposalTools(database),
        CronTools(database),
        MessageTools({**parts.plugins.channels, **channels_of(database)}, parts.plugins.hooks),
        WebAccess(environ, parts.plugins.search_providers),
        ImageTools(home, environ, database, ExpertRestrictions(home, settings)),
        SpeechTools(home, parts.plugins.speech_providers),
        CanvasTools(database),
        GatewayTools(home, database, environ, parts.restart),
        BrowserTools(home, parts.browsers),
        parts.plugins.tools,
    )


async def record_late_answer(database: Database, key: str, answer: ToolAnswer) -> None:
    """An answer that came after the call had been given up as unknown."""
    call = await database.read(lambda tx: get_call(tx, key))
    if call is not None:
        result = Result(answer.text, f"mcp:{call.server}/{call.tool}").to_json()
        await database.write(
            lambda tx: finish_call(tx, call.run_id, key, call.sends, result, is_error=answer.is_error)
        )
