"""A home in which the real host works on sessions with a scripted model, and a clock that a test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from colleague.clock import MovableClock
from colleague.config import Settings, load_settings
from colleague.home import Home
from colleague.runtime.host import Host, open_host
from colleague.runtime.local_service import LocalService
from colleague.runtime.requests import MessageRequest, SentMessage
from colleague.session_document import ItemDocument
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.tables import events, runs, slots
from colleague.store.tx import Database, Tx
from colleague.triggers.agent_schedules import AgentSchedules, agent_documents
from colleague.triggers.registry import TriggerRegistry

MAIN = "agent:main:main"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = int(datetime(2026, 3, 2, 8, 0, tzinfo=UTC).timestamp() * 1000)
DONE = {"text": "Noted."}


@dataclass
class House:
    """Where a room is opened, again and again; each time stands for a process."""

    folder: Path
    clock: MovableClock
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/bin:/bin"})

    @property
    def home(self) -> Home:
        return Home(self.folder)

    def write(self, replies: list[dict[str, Any]], **settings: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "workspace").mkdir(exist_ok=True)
        (self.folder / "play.yaml").write_text(yaml.safe_dump({"log": "asked.jsonl", "replies": replies}))
        agents = {"defaults": {"model": "script/play.yaml"} | settings.pop("defaults", {})}
        (self.folder / "colleague.json").write_text(json.dumps({"agents": agents} | settings))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Room]:
        settings = load_settings(self.home)
        async with open_host(self.home, settings, self.environ, self.clock) as host:
            service = LocalService(self.home, settings, host.database, TriggerRegistry(self.home), host=host)
            yield Room(self, host, service, settings)


@dataclass
class Room:
    """A process on the home."""

    place: House
    host: Host
    service: LocalService
    settings: Settings

    @property
    def database(self) -> Database:
        return self.host.database

    async def say(self, text: str, session: str = MAIN, **more: Any) -> Run | None:
        """Sends a message and works until its turn has ended."""
        sent = await self.send(text, session, **more)
        return await self.work(sent.run_id) if sent.run_id else None

    async def send(self, text: str, session: str = MAIN, **more: Any) -> SentMessage:
        return await self.service.send(session, MessageRequest(text, **more))

    async def work(self, run_id: str) -> Run:
        [run] = await self.host.advance_only([run_id])
        return run

    async def work_all(self) -> list[Run]:
        """Everything that can be done now."""
        found = []
        while waiting := await self.database.read(_unfinished):
            found += await self.host.advance_only(waiting)
        return found

    async def tick(self) -> int:
        return await AgentSchedules(self.database, self.settings).fire_due()

    async def texts(self, session: str = MAIN, **more: Any) -> list[tuple[str, str]]:
        return [(item["role"], item["text"]) for item in await self.items(session, **more)]

    async def items(self, session: str = MAIN, **more: Any) -> list[ItemDocument]:
        return await self.service.items(session, limit=1000, **more)

    async def schedules(self) -> list[dict[str, Any]]:
        return await self.database.read(lambda tx: agent_documents(tx, self.settings))

    async def settled(self) -> list[tuple[int, str | None]]:
        """Each time that is settled, with the reason when nothing was said."""
        query = select(slots.c.slot, events.c.reason).join(events, events.c.id == slots.c.event_id)
        return await self.database.read(
            lambda tx: [tuple(row) for row in tx.all(query.order_by(slots.c.slot))]
        )

    def told(self) -> list[str]:
        """What the model was told last in each request."""
        log = self.place.folder / "asked.jsonl"
        return [json.loads(line)["last"] for line in log.read_text().splitlines()] if log.exists() else []


def _unfinished(tx: Tx) -> list[str]:
    query = select(runs.c.id).where(runs.c.status == "queued", runs.c.ready == 1).order_by(runs.c.id)
    return [row.id for row in tx.all(query)]


async def run_row(database: Database, run_id: str) -> Run:
    return await database.read(lambda tx: get_run(tx, run_id))


def house(tmp_path: Path, *replies: dict[str, Any], **settings: Any) -> House:
    """A home whose model answers so, and then with a few words. It is eight o'clock in UTC."""
    place = House(tmp_path / "home", MovableClock(START))
    defaults = {"userTimezone": "Europe/Berlin"} | settings.pop("defaults", {})
    place.write([*replies, *([DONE] * 30)], defaults=defaults, **settings)
    return place


def acting(place: House, acts: Callable[[Room], Coroutine[Any, Any, None]]) -> None:
    async def open_room() -> None:
        async with place.open() as room:
            await acts(room)

    asyncio.run(open_room())
