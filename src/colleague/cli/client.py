"""Doing something from a command: through the gateway when one holds the home, else in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from colleague.cli.interrupt import say_what_stays
from colleague.cli.output import note, say
from colleague.cli.run_text import progress_lines
from colleague.cli.run_view import Watching, experts_steps
from colleague.clock_file import home_clock
from colleague.config import Settings
from colleague.errors import HomeBusy
from colleague.experts.runs.report import run_report
from colleague.home import LOCK_SECONDS, Home
from colleague.runtime.gateway_file import gateway_runs
from colleague.runtime.host import Host, open_host
from colleague.runtime.remote_service import RemoteService
from colleague.runtime.service import LocalService, Verdict
from colleague.store.opening import open_database
from colleague.store.outbox import unread_of
from colleague.store.run import get_run
from colleague.store.tx import Database
from colleague.triggers.registry import TriggerRegistry

POLL_SECONDS = 0.2


@dataclass(frozen=True)
class LocalClient:
    """This process holds the home, and advances only the runs it made or woke."""

    home: Home
    database: Database
    service: LocalService
    host: Host

    async def decide(self, verdicts: Sequence[Verdict]) -> list[str]:
        """The runs that were decided about."""
        return [approval.run_id for approval in await self.service.decide(verdicts)]

    async def follow(self, run_ids: Sequence[str], *, quiet: bool) -> list[dict[str, Any]]:
        """Waits until each run is done, or waits for a person; their documents. Shows what happens."""
        wanted = list(dict.fromkeys(run_ids))
        experts = await experts_steps(self.database, wanted)
        try:
            with Watching(self.host.bus, quiet=quiet, experts=experts):
                await self.host.advance_only(wanted)
        except asyncio.CancelledError:
            await say_what_stays(self.database, wanted, gateway=gateway_runs(self.home))
            raise
        for run_id in wanted:
            await _mark_read(self, run_id)
        return [await _document(self.database, self.home, run_id) for run_id in wanted]


@dataclass(frozen=True)
class GatewayClient:
    """The gateway does the work; this process asks, and looks on."""

    home: Home
    database: Database
    service: RemoteService

    async def decide(self, verdicts: Sequence[Verdict]) -> list[str]:
        return await self.service.decide(verdicts)

    async def follow(self, run_ids: Sequence[str], *, quiet: bool) -> list[dict[str, Any]]:
        wanted = list(dict.fromkeys(run_ids))
        try:
            return [await self._follow(run_id, quiet) for run_id in wanted]
        except asyncio.CancelledError:
            await say_what_stays(self.database, wanted, gateway=True)
            raise

    async def _follow(self, run_id: str, quiet: bool) -> dict[str, Any]:
        shown: set[str] = set()
        while True:
            document = await _document(self.database, self.home, run_id)
            for key, line in progress_lines(document):
                if key not in shown and not quiet:
                    note(line)
                shown.add(key)
            if await self._rests(run_id, document):
                if not quiet:
                    _say_answer(document)
                await _mark_read(self, run_id)
                return await _document(self.database, self.home, run_id)
            await asyncio.sleep(POLL_SECONDS)

    async def _rests(self, run_id: str, document: dict[str, Any]) -> bool:
        """Whether only a person can move it: it is done, waits, or stands behind a run that waits."""
        if document["status"] in ("done", "waiting"):
            return True
        if document["status"] != "queued" or not document["behind"]:
            return False
        return await self.database.read(lambda tx: _head_waits(tx, get_run(tx, run_id).lane))


Client = LocalClient | GatewayClient


async def _mark_read(client: Client, run_id: str) -> None:
    """Whoever waits for a run at a terminal is shown what it tells."""
    import getpass

    for message in await client.database.read(lambda tx: unread_of(tx, run_id)):
        await client.service.read(message, getpass.getuser())


def _say_answer(document: dict[str, Any]) -> None:
    """What the main agent said. Without a gateway it is shown while the model speaks."""
    if document["status"] == "done" and not document["version"] and document["narrative"]:
        say(document["narrative"])


def _head_waits(tx: Any, lane: str | None) -> bool:
    from colleague.store.lanes import head_of

    head = head_of(tx, lane) if lane else None
    return head is not None and get_run(tx, head).status == "waiting"


async def _document(database: Database, home: Home, run_id: str) -> dict[str, Any]:
    return await database.read(lambda tx: run_report(tx, home, run_id))


@asynccontextmanager
async def open_client(home: Home, settings: Settings) -> AsyncIterator[Client]:
    """Own hands where nobody else holds the home; on PostgreSQL always, since many may work there."""
    async with contextlib.AsyncExitStack() as stack:
        served = gateway_runs(home)
        opening = open_host(
            home, settings, wait_seconds=0 if served else LOCK_SECONDS, accepts=not served
        )  # on PostgreSQL beside a gateway: a command accepts nothing in passing
        try:
            host = await stack.enter_async_context(opening)
        except HomeBusy:
            service = RemoteService.of(home, settings)
            database = open_database(home, settings, os.environ, home_clock(home))
            stack.push_async_callback(database.close)
            yield GatewayClient(home, database, service)
            return
        yield LocalClient(
            home, host.database, LocalService(home, settings, host.database, TriggerRegistry(home)), host
        )
