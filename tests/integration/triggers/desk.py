"""A home whose experts have triggers, a real store, and a clock that stands still until it is moved."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import Clock, MovableClock
from colleague.config.settings import DEDUPE_WINDOW
from colleague.experts.registry import Record, write_record
from colleague.home import Home
from colleague.store.accept import Accepted, Event
from colleague.store.claims import take
from colleague.store.record import columns_of, record
from colleague.store.run import Run, get_run
from colleague.store.schedules import SlotRow
from colleague.store.sql import select
from colleague.store.tables import events, runs, slots
from colleague.store.tx import Database
from colleague.triggers.intake import arrival_of, fire
from colleague.triggers.pausing import pause, resume
from colleague.triggers.registry import BoundTrigger, TriggerRegistry
from colleague.triggers.scheduler import Scheduler
from colleague.triggers.signature import RepeatKeys
from tests.finish import finish
from tests.integration.experts.package import CLERK, Package, process, text
from tests.integration.store.databases import Opener

WORK = process(steps=(), inputs=[text("id", required=False)])


def webhook(name: str = "order", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "webhook", "process": "work", **more}


def cron(expression: str, name: str = "tick", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "cron", "process": "work", "expr": expression, **more}


def by_key(key: str, name: str = "order", **more: Any) -> dict[str, Any]:
    return webhook(name, concurrency="serial_per_key", concurrency_key=key, **more)


@dataclass
class Desk:
    """One home. Each `open` is a process that works on it."""

    root: Path
    opener: Opener
    clock: Any = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self._looks = itertools.count(step=10)

    @property
    def home(self) -> Home:
        return Home(self.root)

    def employ(
        self, *triggers: dict[str, Any], name: str = CLERK, enabled: bool = True, **bindings: Any
    ) -> Path:
        """Writes a package with these triggers into the home; `bindings` are those of its triggers."""
        given = Package(files={"processes/work.md": WORK}, manifest={"triggers": list(triggers)}, name=name)
        folder = given.write(self.home.expert(name))
        (folder / "bindings.yaml").write_text(json.dumps({"triggers": bindings}))
        self.enable(name, enabled=enabled)
        return folder

    def enable(self, name: str = CLERK, *, enabled: bool = True, at: int | None = None) -> None:
        since = self.clock.now() if at is None else at
        write_record(self.home, name, Record(enabled=enabled, enabled_at=since if enabled else 0))

    @asynccontextmanager
    async def open(self, clock: Clock | None = None) -> AsyncIterator[Office]:
        database = self.opener(clock or self.clock)
        try:
            yield Office(self, database, self.registry())
        finally:
            await database.close()

    def registry(self) -> TriggerRegistry:
        """One that looks at the files each time it is asked."""
        return TriggerRegistry(self.home, monotonic=lambda: next(self._looks))


@dataclass
class Office:
    """A process on the home: fires what comes, and works without a model."""

    desk: Desk
    database: Database
    registry: TriggerRegistry

    def scheduler(self, clock: Clock | None = None) -> Scheduler:
        return Scheduler(self.desk.home, self.database, self.registry, clock or self.desk.clock)

    async def tick(self) -> int:
        return await self.scheduler().fire_due()

    async def fire(
        self, payload: Any, trigger: str = "order", expert: str = CLERK, *, sender: str | None = None
    ) -> Accepted:
        wired = self.registry.find(expert, trigger)
        wired.require_active()
        arrival = arrival_of(
            self.desk.home,
            wired,
            payload,
            source="webhook",
            dedupe_window=DEDUPE_WINDOW,
            repeat=RepeatKeys(delivery=sender),
        )
        return await self.database.write(lambda tx: fire(tx, arrival))

    def wired(self, trigger: str = "order", expert: str = CLERK) -> BoundTrigger:
        return self.registry.find(expert, trigger)

    async def pause(self, trigger: str = "order") -> bool:
        wired = self.wired(trigger)
        return await self.database.write(lambda tx: pause(tx, wired, "ann"))

    async def resume(self, trigger: str = "order") -> int | None:
        wired = self.wired(trigger)
        return await self.database.write(lambda tx: resume(tx, self.desk.home, wired))

    async def work(self, most: int = 10_000) -> list[Run]:
        """Runs what may start, one after another, until nothing is left; in the order of their starts."""
        done: list[Run] = []
        while len(done) < most and (run := await self.begin()):
            await self.end(run)
            done.append(run)
        return done

    async def begin(self) -> Run | None:
        """Takes one run that may start, and leaves it running."""
        taken = await self.database.write(lambda tx: take(tx, "w", self.database.lease_now(tx)))
        return taken.run if taken else None

    async def end(self, run: Run) -> None:
        from colleague.store.run import Hold

        hold = Hold(run.id, run.epoch, run.lane)
        await self.database.write(lambda tx: finish(tx, hold, "completed"))

    async def run(self, run_id: str | None) -> Run:
        return await self.database.read(lambda tx: get_run(tx, str(run_id)))

    async def events(self, trigger: str = "") -> list[Event]:
        query = select(*columns_of(Event, events)).order_by(events.c.id)
        query = query.where(events.c.trigger_name == trigger) if trigger else query
        return [record(Event, row) for row in await self.database.read(lambda tx: tx.all(query))]

    async def slots(self, trigger: str = "tick") -> list[SlotRow]:
        query = select(slots.c.slot, slots.c.event_id).where(slots.c.trigger_name == trigger)
        rows = await self.database.read(lambda tx: tx.all(query.order_by(slots.c.slot)))
        return [SlotRow(row.slot, row.event_id) for row in rows]

    async def settled(self, trigger: str = "tick") -> list[tuple[int, str]]:
        """Each settled time, and `ran` or the reason why not."""
        known = {event.id: event for event in await self.events(trigger)}
        found = await self.slots(trigger)
        return [(each.slot, _became(known[each.event_id])) for each in found]

    async def ran(self, trigger: str = "tick") -> list[int]:
        return [slot for slot, became in await self.settled(trigger) if became == "ran"]

    async def count(self) -> int:
        return len(await self.database.read(lambda tx: tx.all(select(runs.c.id))))


def _became(event: Event) -> str:
    if event.run_id is not None:
        return "ran"
    assert event.outcome == "skipped", "neither a run nor a reason"
    return str(event.reason)


def inputs(found: Sequence[Run]) -> list[Any]:
    """What tells the runs of a test apart: the `id` of each payload."""
    return [json.loads(run.inputs).get("id") for run in found]


@pytest.fixture
def desk(tmp_path: Path, opener: Opener) -> Desk:
    return Desk(tmp_path / "home", opener)
