"""A small random world on the store: senders, workers that crash, people who decide, a sweeper.

Everything it sees that must not happen ends up in `violations`."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from colleague.clock import MovableClock
from colleague.store import approvals as approvals_room
from colleague.store import claims as work
from colleague.store import journal, sweep
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import AlreadyDecided, Answer, Ask
from colleague.store.cancel import cancel
from colleague.store.journal import Message, NewCall
from colleague.store.run import Hold
from colleague.store.sql import func, select
from colleague.store.tables import messages, runs
from colleague.store.tx import Database, Fenced, Tx
from tests.finish import finish

LONG_AGO = -10_000_000


@dataclass
class World:
    databases: list[Database]
    clock: MovableClock
    seed: int
    lanes: int
    accepted: set[str] = field(default_factory=set)
    started: dict[str, list[int]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    senders_done: bool = False
    calm: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def saw(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    @property
    def database(self) -> Database:
        return self.random.choice(self.databases)

    async def live(self, arrivals: int, *, workers: int = 4, seconds: float = 60) -> None:
        """Lets everyone loose until all that was accepted has ended."""
        actors = [self._work(f"w{number}") for number in range(workers)]
        actors += [self._decide("ann"), self._decide("bob"), self._cancel(), self._sweep(), self._watch()]
        tasks = [asyncio.create_task(actor) for actor in actors]
        try:
            await asyncio.wait_for(self._until_done(arrivals, tasks), seconds)
        except TimeoutError:
            self.violations.append(f"forgotten: {await self._unfinished()}")
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                self.violations.append(f"crash: {result!r}")

    async def _until_done(self, arrivals: int, tasks: list[asyncio.Task[None]]) -> None:
        await asyncio.gather(*(self._send(arrivals // 4) for _ in range(4)))
        self.senders_done = True
        while await self._unfinished():
            await asyncio.sleep(0.01)
            self.clock.move(seconds=1)
            if any(task.done() for task in tasks):
                return

    async def _unfinished(self) -> list[Any]:
        query = select(runs.c.id, runs.c.status, runs.c.ready, runs.c.lane, runs.c.seq).where(
            runs.c.status != "done"
        )
        return await self.database.read(lambda tx: [tuple(row) for row in tx.all(query.limit(5))])

    async def _send(self, count: int) -> None:
        for _ in range(count):
            number = self.random.randrange(self.lanes + 1)
            lane = f"lane{number}" if number else None
            arrival = Arrival(
                expert=f"e{self.random.randrange(3)}",
                trigger="t",
                source="test",
                payload="{}",
                session_key="s",
                lane=lane,
                dedupe_keys=(str(self.random.randrange(10_000)),),
            )
            accepted = await self.database.write(lambda tx, arrival=arrival: accept(tx, arrival))
            if accepted.duplicate and accepted.run_id not in self.accepted:
                await asyncio.sleep(0.05)
            self.accepted.add(str(accepted.run_id))
            self.saw("duplicate" if accepted.duplicate else "accept")
            await asyncio.sleep(self.random.random() * 0.002)

    async def _work(self, name: str) -> None:
        expert = ""
        while True:
            database = self.database
            lease = LONG_AGO if self._happens(0.1) else database_lease()
            taken = await database.write(
                lambda tx, lease=lease, expert=expert: work.take(tx, name, lease, expert)
            )
            if taken is None:
                expert = ""
                await asyncio.sleep(0.002)
                continue
            expert = taken.run.expert
            self._note_start(taken)
            await self._advance(database, taken, doomed=lease == LONG_AGO)

    def _happens(self, chance: float) -> bool:
        return not self.calm and self.random.random() < chance

    def _note_start(self, taken: work.Taken) -> None:
        self.saw("take")
        if taken.run.lane is None or taken.run.epoch != 1:
            return
        starts = self.started.setdefault(taken.run.lane, [])
        if starts and starts[-1] > taken.run.seq:
            self.violations.append(f"order: {taken.run.lane} started {taken.run.seq} after {starts[-1]}")
        starts.append(taken.run.seq)

    async def _advance(self, database: Database, taken: work.Taken, *, doomed: bool) -> None:
        """One stretch of work. A doomed worker freezes in it and comes back to a run that is not its own."""
        hold = taken.hold
        try:
            await self._answer(database, hold)
            if doomed:
                self.saw("freeze")
                await asyncio.sleep(0.03)
                await self._answer(database, hold)
            await self._end_stretch(database, hold)
        except Fenced:
            self.saw("fenced")

    async def _answer(self, database: Database, hold: Hold) -> None:
        """A model answer at the next place, checked to be written by the run's present owner."""

        def answer(tx: Tx) -> None:
            place = tx.execute(
                select(func.count()).select_from(messages).where(messages.c.run_id == hold.run_id)
            ).scalar_one()
            journal.append(tx, hold, [Message("main", place, f"{hold.epoch}", None, 1)])
            self._check_owner(tx, hold)

        await database.write(answer)

    def _check_owner(self, tx: Tx, hold: Hold) -> None:
        row = tx.one(select(runs.c.epoch, runs.c.status).where(runs.c.id == hold.run_id))
        if row is None or row[0] != hold.epoch or row[1] != "running":
            self.violations.append(f"unfenced: {hold} wrote to a run that is {row}")

    async def _end_stretch(self, database: Database, hold: Hold) -> None:
        choice = self.random.random()
        if choice < 0.3:
            await self._ask(database, hold, 1 + self.random.randrange(3))
        elif choice < 0.4:
            await self._lose_a_call(database, hold)
        elif choice < 0.5:
            await database.write(lambda tx: work.give_back(tx, hold))
            self.saw("give back")
        elif choice < 0.6:
            await database.write(lambda tx: work.retry_later(tx, hold, "failed", 2000))
            self.saw("retry")
        else:
            await database.write(lambda tx: finish(tx, hold, "completed"))
            self.saw("finish")

    async def _ask(self, database: Database, hold: Hold, count: int) -> None:
        asks = [Ask(None, "confirm", "crm.x", "{}", "d") for _ in range(count)]
        waits = await database.write(lambda tx: approvals_room.wait(tx, hold, asks))
        self.saw("wait" if waits else "no wait")

    async def _lose_a_call(self, database: Database, hold: Hold) -> None:
        """A call is sent and no answer comes; the run waits for a person, and then the answer does come."""

        def start(tx: Tx) -> tuple[str, int]:
            place = tx.execute(
                select(func.count()).select_from(messages).where(messages.c.run_id == hold.run_id)
            ).scalar_one()
            call = NewCall(0, f"c{place}", "crm.x", "{}", "auto", "allowed")
            [made] = journal.append(tx, hold, [Message("main", place, "call", None, 1)], new_calls=[call])
            return made.id, journal.start_call(tx, hold, made)

        call_id, send = await database.write(start)
        await database.write(lambda tx: journal.mark_unknown(tx, hold, call_id, "timeout"))
        ask = Ask(call_id, "uncertain", "crm.x", "{}", "late", send=send)
        await database.write(lambda tx: approvals_room.wait(tx, hold, [ask]))
        await asyncio.sleep(self.random.random() * 0.01)
        await database.write(lambda tx: journal.finish_call(tx, hold.run_id, call_id, send, "{}"))
        self.saw("late answer")

    async def _decide(self, who: str) -> None:
        while True:
            database = self.database
            pending = await database.read(approvals_room.pending_approvals)
            for approval in self.random.sample(pending, min(len(pending), 8)):
                if approval.kind == "uncertain":
                    continue
                answer = Answer(approval.id, "d", "approve", who)
                try:
                    await database.write(lambda tx, answer=answer: approvals_room.decide(tx, answer))
                    self.saw("decide")
                except AlreadyDecided:
                    self.saw("too late")
            await asyncio.sleep(0.002)

    async def _cancel(self) -> None:
        while True:
            await asyncio.sleep(0.02)
            if self.accepted and self._happens(0.5):
                victim = self.random.choice(sorted(self.accepted))
                cancelled = await self.database.write(lambda tx, victim=victim: cancel(tx, victim, "tired"))
                self.saw("cancel" if cancelled else "cancel too late")

    async def _sweep(self) -> None:
        while True:
            await sweep.sweep(self.database, take_over_lost=True)
            await asyncio.sleep(0.005)

    async def _watch(self) -> None:
        """In each lane nothing has begun but the first unfinished run."""
        begun = runs.c.started_at.is_not(None)
        query = select(runs.c.lane, runs.c.seq, begun).where(
            runs.c.status != "done", runs.c.lane.is_not(None)
        )
        while True:
            rows = await self.database.read(lambda tx: tx.all(query.order_by(runs.c.lane, runs.c.seq)))
            seen: set[str] = set()
            for lane, seq, has_begun in rows:
                if has_begun and lane in seen:
                    self.violations.append(f"overlap: {lane} {seq} began behind an unfinished run")
                seen.add(lane)
            await asyncio.sleep(0.005)


def database_lease() -> int:
    import time

    return time.time_ns() // 1_000_000 + 10_000_000
