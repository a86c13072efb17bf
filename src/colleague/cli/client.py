"""How commands reach the service: the gateway that holds the home, else this process.

A command that asks a gateway imports neither the store nor the model layer: both are imported here only when
this process does the work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from colleague.errors import ColleagueError, GatewayUnreachable, HomeBusy
from colleague.home import LOCK_SECONDS, Home
from colleague.run_document import QUESTIONS, RunDocument, short
from colleague.runtime.gateway_file import GatewayFile, gateway_runs, running_gateway

if TYPE_CHECKING:
    from colleague.config import Settings, SettingsWarning
    from colleague.hooks.runner import PluginHooks
    from colleague.runtime.remote_service import RemoteService
    from colleague.runtime.service import RunService, Service
    from colleague.runtime.starting_service import StartingService
    from colleague.runtime.working_home import DeferredHost
    from colleague.store.tx import Database

T = TypeVar("T")
CONNECT_SECONDS = 5.0
MOST_WARNINGS = 5
_warned_of: set[SettingsWarning] = set()


@dataclass(frozen=True)
class Client:
    """What begins runs, and a view of those that it works on."""

    home: Home
    runs: RunService
    works: bool = False
    """Whether this process works on the runs that it follows."""
    remote: bool = False
    """Whether a gateway does what is asked."""

    @property
    def service(self) -> Service:
        """For all else that can be done."""
        return self.runs.whole()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Client]:
        """The same, while all that is to be done in the home is worked on: by its gateway, or here."""
        if self.remote:
            yield self
            return
        from colleague.runtime.service_base import ServiceBase

        runs = self.runs
        if not isinstance(runs, ServiceBase) or runs.host is None or runs.watchers is not None:
            yield self
            return
        host = await runs.host.opened()
        async with host.working() as watchers:
            yield replace(self, runs=replace(runs, watchers=watchers))

    async def follow(
        self, run_ids: Sequence[str], *, quiet: bool, before: Sequence[RunDocument] = ()
    ) -> list[RunDocument]:
        """Shows what happens until each run is done, or waits for a person; their documents then.

        What had happened in the documents `before` is not shown again."""
        wanted = list(dict.fromkeys(run_ids))
        known = {document["id"]: document for document in before}
        try:
            return await self._follow(wanted, known, quiet=quiet) if wanted else []
        except GatewayUnreachable as error:
            raise _still_stored(error, wanted) from None
        except asyncio.CancelledError:
            await self.say_what_stays(wanted)
            raise
        except (ColleagueError, OSError):
            if self.works:  # what works on runs could not be opened, or not go on
                await self.say_what_stays(wanted)
            raise

    async def _follow(
        self, run_ids: Sequence[str], known: Mapping[str, RunDocument], *, quiet: bool
    ) -> list[RunDocument]:
        from colleague.cli.run_view import RunView

        with RunView.open(quiet=quiet, works=self.works) as view:
            for run_id in run_ids:
                view.begin(await self.runs.heading(run_id), known.get(run_id))
            async with contextlib.aclosing(self.runs.follow(run_ids)) as events:
                async for event in events:
                    view.show(event)
            documents = [await self.runs.run(run_id) for run_id in run_ids]
            for document in documents:
                view.end(document)
        return [await self._with_all_read(document) for document in documents]

    async def _with_all_read(self, document: RunDocument) -> RunDocument:
        """Whoever waits for a run at a terminal is shown what it tells."""
        import getpass

        told = [*([document["delivery"]] if document["delivery"] else []), *document["notices"]]
        unread = [each for each in told if each["status"] == "waiting" and each["kind"] not in QUESTIONS]
        for message in unread:
            await self.runs.read(message["id"], getpass.getuser())
        return await self.runs.run(document["id"]) if unread else document

    async def say_what_stays(self, run_ids: Sequence[str]) -> None:
        """Where each run stands that was waited for, and how to go on with it."""
        from colleague.cli.interrupt import what_stays
        from colleague.cli.output import note

        worker = await self._worker()
        for run_id in run_ids:
            note(what_stays(await self.runs.run(run_id), worker))

    async def _worker(self) -> str:
        """Who goes on with the runs once this command has ended; empty when nobody does."""
        if self.remote or gateway_runs(self.home):
            return "the gateway"
        from colleague.runtime.presence import nobody_works
        from colleague.runtime.service_base import ServiceBase

        runs = self.runs
        if self.works or not isinstance(runs, ServiceBase):
            return ""
        nobody = await nobody_works(self.home, runs.settings, runs.database)
        return "" if nobody else "another process"


def _still_stored(error: GatewayUnreachable, run_ids: Sequence[str]) -> GatewayUnreachable:
    """The runs are not lost with the gateway; whoever followed them is told how to look again."""
    runs = f"run {', '.join(map(short, run_ids))}"
    look = " and ".join(f"colleague run watch {short(run_id)}" for run_id in run_ids)
    return GatewayUnreachable(
        f"{error.message}; {runs} is stored and goes on when the gateway is back",
        hint=f"start it with colleague serve, then look again: {look}",
    )


def opened(home: Path | None) -> tuple[Home, Settings]:
    """The home and its settings."""
    place = Home.find(home)
    return place, loaded(place)


def loaded(home: Home) -> Settings:
    """The settings of a home. What is odd in its files is said on stderr, once."""
    from colleague.cli.output import note
    from colleague.config import load_settings

    settings = load_settings(home)
    fresh = [each for each in settings.warnings if each not in _warned_of]
    for warning in fresh[:MOST_WARNINGS]:
        note(f"warning: {warning}" + (f"; {warning.hint}" if warning.hint else ""))
    if len(fresh) > MOST_WARNINGS:
        note(f"warning: and {len(fresh) - MOST_WARNINGS} more: colleague config check")
    _warned_of.update(fresh)
    return settings


def note_without_effect(home: Home, settings: Settings) -> None:
    """Says on stderr which keys are set and have no effect."""
    from colleague.cli.output import note
    from colleague.config.status import without_effect
    from colleague.plugins.report import served_channels

    idle = [each.key for each in without_effect(settings, served_channels(home, settings))]
    if idle:
        shown = ", ".join(idle[:MOST_WARNINGS])
        more = f" and {len(idle) - MOST_WARNINGS} more" if len(idle) > MOST_WARNINGS else ""
        note(f"warning: no effect: {shown}{more} (colleague config check)")


def with_client(home: Path | None, work: Callable[[Client], Awaitable[T]], *, looks: bool = False) -> T:
    """Does something through whoever holds the home. `looks`: nothing is changed, so no lock is needed."""
    from colleague.cli.interrupt import run_interruptibly

    place = Home.find(home)

    async def go() -> T:
        async with open_looking(place) if looks else open_client(place) as using:
            return await work(using)

    return run_interruptibly(go)


@asynccontextmanager
async def open_client(home: Home) -> AsyncIterator[Client]:
    """The gateway where one runs, else this process, which then advances only the runs it made or woke."""
    remote = await _gateway(home)
    if remote is not None:
        yield Client(home, remote, remote=True)
        return
    async with contextlib.AsyncExitStack() as stack:
        try:
            local = await stack.enter_async_context(_local(home, served=gateway_runs(home)))
            using = Client(home, local, works=True)
        except HomeBusy:
            using = Client(home, _remote(home), remote=True)
        yield using


@asynccontextmanager
async def open_looking(home: Home) -> AsyncIterator[Client]:
    """Through the gateway, which knows what is being said; else in the database, which needs no token."""
    remote = await _gateway(home)
    if remote is not None and await remote.lets_in():
        yield Client(home, remote, remote=True)
        return
    async with _local_looking(home) as runs:
        yield Client(home, runs)


async def _gateway(home: Home) -> RemoteService | None:
    """The gateway of this home; one that is being started is waited for."""
    deadline = time.monotonic() + LOCK_SECONDS
    while gateway_runs(home):
        found = running_gateway(home)
        if found is not None and await _answers(found):
            return _remote(home)
        if time.monotonic() > deadline:
            return None
        await asyncio.sleep(0.05)
    return None


def _remote(home: Home) -> RemoteService:
    from colleague.runtime.remote_service import RemoteService

    return RemoteService(home)


async def _answers(found: GatewayFile) -> bool:
    """Whether it listens already, or still."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(found.address, found.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


@asynccontextmanager
async def _local(home: Home, *, served: bool) -> AsyncIterator[StartingService]:
    """Stores at once what it is asked; what works on runs is opened when one is followed.

    Beside a gateway that does not answer, a command accepts no MCP server in passing."""
    from colleague.cli.spinner import Spinner

    with Spinner().shown("starting"):
        from colleague.runtime.starting_service import StartingService
        from colleague.runtime.working_home import DeferredHost, open_working_home
        from colleague.triggers.registry import TriggerRegistry

    settings = loaded(home)
    async with (
        open_working_home(home, settings, wait_seconds=0 if served else LOCK_SECONDS) as working,
        DeferredHost(working, accepts=not served) as host,
    ):
        hooks = await _plugin_hooks(home, settings, host)
        registry = TriggerRegistry(home)
        yield StartingService(home, settings, working.database, registry, host=host, hooks=hooks)


async def _plugin_hooks(home: Home, settings: Settings, host: DeferredHost) -> PluginHooks:
    """Plugins hear of a message before it is stored, and bring models: with one, the host is opened first."""
    from colleague.hooks.runner import NO_HOOKS
    from colleague.plugins.records import any_enabled

    return (await host.opened()).hooks if any_enabled(home, settings) else NO_HOOKS


@asynccontextmanager
async def _local_looking(home: Home) -> AsyncIterator[StartingService]:
    from colleague.runtime.starting_service import StartingService
    from colleague.triggers.registry import TriggerRegistry

    settings = loaded(home)
    async with _database(home, settings) as database:
        yield StartingService(home, settings, database, TriggerRegistry(home))


def with_database(home: Path | None, work: Callable[[Database], Awaitable[T]], *, writes: bool = False) -> T:
    """Looks something up, or writes a small thing, without working on runs. Reading needs no lock."""
    place, settings = opened(home)

    async def go() -> T:
        async with _database(place, settings) as database:
            return await work(database)

    alone = writes and settings.experts.database is None
    with place.working() if alone else contextlib.nullcontext():
        return asyncio.run(go())


@asynccontextmanager
async def _database(home: Home, settings: Settings) -> AsyncIterator[Database]:
    import os

    from colleague.clock_file import home_clock
    from colleague.store.open_database import open_database

    database = open_database(home, settings, os.environ, home_clock(home))
    try:
        yield database
    finally:
        await database.close()
