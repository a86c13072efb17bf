"""Everything that works on a home by itself: worker, sender, schedules, cleanup."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace

from colleague.background_tasks import STOP_SECONDS, BackgroundTasks
from colleague.clock import Clock
from colleague.config import Settings
from colleague.errors import DatabaseUnavailable
from colleague.experts.workspace.cleanup import skip_unreadable
from colleague.experts.workspace.snapshots import digests_in_use, forget_snapshots
from colleague.home import Home
from colleague.run_event import RunEvent
from colleague.runtime.audit_intake import take_in_changes
from colleague.runtime.cleanup import remove_idle_sandboxes, remove_old_scratch, remove_unused_media
from colleague.runtime.host import AssemblerByKind, Host, kind_limits, sender_with
from colleague.store.claims import Taken
from colleague.store.session_retention import archive_child, idle_children
from colleague.store.worker import Worker, is_outside_trouble
from colleague.triggers.agent_schedules import AgentSchedules
from colleague.triggers.gmail.resolve import Resolver
from colleague.triggers.pausing import end_removed
from colleague.triggers.registry import TriggerRegistry
from colleague.triggers.scheduler import Scheduler

log = logging.getLogger(__name__)

POST_EVERY = 5.0
CLEANUP_EVERY = 3600.0


@dataclass
class BackgroundServices:
    """All of it for one home. `open` runs it beside the block; leaving the block drains and stops it."""

    home: Home
    host: Host
    settings: Settings
    registry: TriggerRegistry
    clock: Clock
    drain_seconds: float = 10.0
    background: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(passes=is_outside_trouble))

    def __post_init__(self) -> None:
        host = self.host
        self._advancer = host.advancer
        self._draining = False
        self.active = 0
        self.worker = Worker(
            host.database,
            self._advance,
            limit=host.limit,
            limits=host.limits,
            keep_ms=host.keep_ms,
            background=self.background,
        )
        window = self.settings.experts.dedupe_window
        self.resolver = Resolver(self.home, host.database, host.servers, self.registry, self.clock, window)
        agents = AgentSchedules(host.database, self.settings)
        self.scheduler = Scheduler(self.home, host.database, self.registry, self.clock, window, agents)
        self._post = asyncio.Event()

    def use(self, settings: Settings, held: Collection[str] = ()) -> None:
        """New settings, for what begins from now on. Servers that are `held` wait for a yes."""
        self.settings = settings
        self.worker.limits = kind_limits(settings)
        if self.host.sender is not None:
            self.host = replace(self.host, sender=sender_with(self.host.sender, settings))
        agents = self._advancer.assembler
        if isinstance(agents, AssemblerByKind):
            self._advancer = replace(self._advancer, assembler=agents.with_settings(settings))
        if self.scheduler.agents is not None:
            self.scheduler.agents.settings = settings
        self.scheduler.dedupe_window = self.resolver.dedupe_window = settings.experts.dedupe_window
        self.host.servers.reconfigure(settings, held)

    def wake_sender(self) -> None:
        self._post.set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        unwatch = self.host.bus.watch(self._on_event)
        working = self.background.start("worker", self.worker.run)
        self.background.start("sender", self._deliver)
        self.background.start("scheduler", self.scheduler.run)
        self.background.start("resolver", self.resolver.run)
        self.background.start("cleanup", self._clean_up)
        try:
            yield
        finally:
            unwatch()
            await self.background.stop("scheduler", "resolver", "cleanup")
            await self._drain()
            self.worker.stop()
            await asyncio.wait([working], timeout=STOP_SECONDS)
            await self.background.stop("worker", "sender")
            await self._deliver_the_rest()

    async def _advance(self, taken: Taken) -> None:
        """With the settings of now; while draining nothing new is begun, and the stop gives it back."""
        if self._draining:
            await asyncio.Event().wait()
        self.active += 1
        try:
            await self._advancer(taken)
        finally:
            self.active -= 1

    async def _drain(self) -> None:
        """Lets what is under way come to its end, for so long."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.drain_seconds):
                while self.active:
                    await asyncio.sleep(0.05)

    async def _deliver_the_rest(self) -> None:
        """What cannot be delivered now waits in the store for the next start."""
        try:
            await self.host.deliver()
        except DatabaseUnavailable as error:
            log.warning("some results were not delivered: %s", error)

    def _on_event(self, event: RunEvent) -> None:
        if event.kind in ("run_status", "approval_requested"):
            self._post.set()

    async def _deliver(self) -> None:
        while (sender := self.host.sender) is not None:
            self._post.clear()
            while await sender.deliver_all():
                pass
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POST_EVERY):
                    await self._post.wait()

    async def _archive_children(self) -> None:
        minutes = self.settings.agents.defaults.subagents.archive_after_minutes
        idle_ms, database = minutes * 60_000, self.host.database
        for key in await database.read(lambda tx: idle_children(tx, idle_ms)) if minutes else ():
            await database.write(lambda tx, key=key: archive_child(tx, key, idle_ms))  # type: ignore[misc]

    async def _clean_up(self) -> None:
        while True:
            await take_in_changes(self.home, self.host.database)
            await remove_old_scratch(self.home, self.host.database, self.settings, self.clock)
            await self.host.database.write(lambda tx: end_removed(tx, self.registry))
            await self._archive_children()
            with skip_unreadable("pictures"):
                await remove_unused_media(self.home, self.host.database, self.clock)
            with skip_unreadable("folders of sandboxes"):
                await remove_idle_sandboxes(self.home, self.host.database, self.settings, self.clock)
            with skip_unreadable("copies of packages"):
                needed = await self.host.database.read(digests_in_use)
                await asyncio.to_thread(forget_snapshots, self.home, needed, self.clock.now())
            await asyncio.sleep(CLEANUP_EVERY)
