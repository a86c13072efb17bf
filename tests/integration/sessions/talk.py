"""People who talk to sessions: a real store, workers and loop, and a model that repeats what it was told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, get_args

from colleague.agent.advance import Advancer
from colleague.agent.decided_call import decided_call
from colleague.agent.events import EventBus
from colleague.agent.history import SessionHistory
from colleague.agent.models.connections import Connections
from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.run_spec import RunSpec
from colleague.agent.toolbox import Toolbox
from colleague.agent.turn_end import TurnEndHooks
from colleague.agent.turn_opening import TurnOpening
from colleague.clock import MovableClock
from colleague.config import Settings
from colleague.session_key import SessionKey
from colleague.sessions.changes import stop
from colleague.sessions.messages import SessionMessage, send_message
from colleague.sessions.tools.spawn import SessionsSpawnTool
from colleague.store.announce import announce_all
from colleague.store.approvals import AlreadyDecided, Answer, Approval, decide, pending_approvals
from colleague.store.delegations import Delegation
from colleague.store.inbox import SendOutcome
from colleague.store.outbox import waiting_announcements
from colleague.store.run import Run
from colleague.store.session_entry import QueueMode, get_session
from colleague.store.session_items import SessionItem, items_of
from colleague.store.sql import func, select
from colleague.store.tables import delegations, events, inbox, runs
from colleague.store.tx import Database, Tx
from colleague.store.worker import Worker
from tests.integration.agent.stage import Ledger, Tiers

MARK = re.compile(r"#\d+")
MODES: tuple[QueueMode, ...] = get_args(QueueMode)


@dataclass
class Listener:
    """Answers with every mark that it was told, in order; asks for a call when it is told to."""

    pace: random.Random
    most_ms: int = 4

    def open(self) -> Any:
        from pydantic_ai.models.function import FunctionModel

        return FunctionModel(stream_function=self._play, model_name="listener")

    async def _play(self, messages: list[Any], _info: Any) -> AsyncIterator[Any]:
        from pydantic_ai.models.function import DeltaToolCall

        await asyncio.sleep(self.pace.randint(0, self.most_ms) / 1000)
        told = [part.content for each in messages for part in each.parts if part.part_kind == "user-prompt"]
        last = messages[-1].parts[-1]
        if (
            last.part_kind == "user-prompt"
            and "please spawn" in last.content
            and "come to its end" not in last.content
        ):
            task = json.dumps({"task": "please spawn" if "twice" in last.content else "count to three"})
            yield {0: DeltaToolCall("sessions_spawn", task, tool_call_id=f"s{len(messages)}")}
            return
        wanted = (
            MARK.findall(last.content)
            if last.part_kind == "user-prompt" and "please do" in last.content
            else []
        )
        if wanted and "decided" not in last.content:
            yield {
                0: DeltaToolCall(
                    "ledger.append", f'{{"line": "{wanted[-1]}"}}', tool_call_id=f"c{wanted[-1]}"
                )
            }
            return
        for place, word in enumerate(MARK.findall("\n".join(told)) or ["nothing"]):
            yield f" {word}" if place else word
            await asyncio.sleep(self.pace.randint(0, self.most_ms) / 8000)


@dataclass
class Talk:
    """Sessions, and everything that is done to them at once."""

    databases: list[Database]
    clock: MovableClock
    seed: int
    sessions: int = 2
    ledger: Ledger = field(default_factory=Ledger)
    sent: dict[str, list[tuple[str, SendOutcome]]] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    expires_ms: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.pace = random.Random(self.seed)
        subagents = {"maxSpawnDepth": 2, "maxChildrenPerAgent": 20}
        self.settings = Settings.model_validate(
            {
                "messages": {"queue": {"debounceMs": 0, "cap": 1000}},
                "agents": {"defaults": {"subagents": subagents}},
            }
        )
        self.keys = [SessionKey.for_chat("test", "dm", f"p{number}") for number in range(self.sessions)]
        self._at_work: Counter[str] = Counter()
        self._histories = {id(each): SessionHistory(each) for each in self.databases}

    async def live(self, messages: int) -> None:
        """Sends, interrupts, decides and restarts; then lets everything come to its end."""
        workers = [asyncio.create_task(self._work(each)) for each in self.databases]
        deciding = asyncio.create_task(self._decide_forever())
        telling = [asyncio.create_task(self._tell_forever(each)) for each in self.databases]
        await self._spawn_first()
        await asyncio.gather(*(self._talk(key, messages) for key in self.keys))
        await self._until_quiet()
        for task in (*workers, *telling, deciding):
            task.cancel()
        await asyncio.gather(*workers, *telling, deciding, return_exceptions=True)

    async def _spawn_first(self) -> None:
        """In a session that nobody interrupts: on a busy machine that can happen to all other spawns."""
        key, said = SessionKey.for_chat("test", "dm", "first"), SessionMessage("please spawn twice")
        await self.databases[0].write(lambda tx: send_message(tx, self.settings, key, said))
        async with asyncio.timeout(240):
            while not await handed_over(self.databases[0]):
                await asyncio.sleep(0.02)

    async def _talk(self, key: SessionKey, messages: int) -> None:
        for number in range(messages):
            mark = f"#{number}"
            wish = self.pace.choices(
                ("", " please do", " please spawn", " please spawn twice"), (70, 16, 8, 6)
            )
            text = mark + wish[0]
            said = SessionMessage(text, queue_mode=self.pace.choice(MODES))
            database = self.pace.choice(self.databases)
            sent = await database.write(lambda tx, said=said: send_message(tx, self.settings, key, said))
            self.sent.setdefault(str(key), []).append((mark, sent))
            self.counts[sent.queued] += 1
            if self.pace.random() < 0.03:
                stopped = await database.write(lambda tx: stop(tx, key, "ann"))
                self.stopped.add(str(stopped["run_id"]))
                self.counts["stop"] += 1
            await asyncio.sleep(self.pace.choice((0, 0, 0.002, 0.01)))

    async def _work(self, database: Database) -> None:
        """A process that works for a while, stops, and is started again."""
        async with Connections() as connections:
            while True:
                advancer = Advancer(database, _Assembler(self, database), EventBus(), connections)
                worker = Worker(database, advancer, limit=8)
                working = asyncio.create_task(worker.run())
                try:
                    await asyncio.sleep(self.pace.uniform(0.05, 0.4))
                finally:
                    worker.stop()
                    await working
                self.counts["restart"] += 1

    async def _tell_forever(self, database: Database) -> None:
        """What children came to, by every process at once."""
        while True:
            await announce_all(database)
            await asyncio.sleep(0.005)

    async def _decide_forever(self) -> None:
        while True:
            await asyncio.sleep(0.005)
            database = self.pace.choice(self.databases)
            for asked in await database.read(pending_approvals):
                with contextlib.suppress(AlreadyDecided):  # the answer to an uncertain call came after all
                    await self._decide(database, asked)

    async def _decide(self, database: Database, asked: Approval) -> None:
        choices = (
            ("happened", "give_up")
            if asked.kind == "uncertain"
            else ("approve", "approve", "reject", "respond")
        )
        decision: Any = self.pace.choice(choices)
        said = '"no need"' if decision == "respond" else None
        answer = Answer(asked.id, asked.digest, decision, "ann", answer=said)
        await database.write(lambda tx: decide(tx, answer))
        self.counts[decision] += 1
        if decision == "approve":
            self.approved.add(asked.id)

    async def _until_quiet(self) -> None:
        async with asyncio.timeout(240):
            while await self.databases[0].read(_unfinished):
                await asyncio.sleep(0.02)

    async def items(self, key: SessionKey) -> list[SessionItem]:
        return await self.databases[0].read(lambda tx: items_of(tx, str(key), limit=100_000))


@dataclass(frozen=True)
class _Assembler:
    talk: Talk
    database: Database

    async def assemble(self, run: Run) -> RunSpec:
        talk = self.talk
        opening = TurnOpening(self.database)
        entry = await self.database.read(lambda tx: get_session(tx, run.session_key))
        spawn = SessionsSpawnTool(self.database, talk.settings, run, entry)
        return RunSpec(
            owner="main",
            routes=Routes((ResolvedModel("test", "listener", stand_in=Listener(talk.pace)),)),
            system="",
            toolbox=Toolbox([talk.ledger, spawn]),
            gate=Tiers({"sessions_spawn": "auto"}, expires_ms=talk.expires_ms),
            opening=opening,
            history=talk._histories[id(self.database)].before,
            steering=opening.render,
            parks=True,
            decided_call=await self.database.read(lambda tx: decided_call(tx, run)),
            end_hooks=TurnEndHooks(),
        )


async def settled(talk: Talk) -> None:
    """Works until nothing can go on by itself."""
    [database] = talk.databases
    async with Connections() as connections:
        advancer = Advancer(database, _Assembler(talk, database), EventBus(), connections)
        worker = Worker(database, advancer, limit=8)
        working = asyncio.create_task(worker.run())
        async with asyncio.timeout(240):
            while await database.read(_at_work):
                await asyncio.sleep(0.01)
        worker.stop()
        await working


def _at_work(tx: Tx) -> bool:
    return tx.one(select(runs.c.id).where(runs.c.status != "done").limit(1)) is not None


def _unfinished(tx: Tx) -> bool:
    """What is read one after another may move meanwhile, as an announcement that becomes a run."""
    before = _count_runs(tx)
    open_run = tx.one(select(runs.c.id).where(runs.c.status != "done").limit(1))
    waiting = tx.one(select(inbox.c.event_id).limit(1)) is not None
    left = open_run is not None or waiting or bool(pending_approvals(tx)) or bool(waiting_announcements(tx))
    return left or _count_runs(tx) != before


def _count_runs(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(runs)).scalar_one())


async def handed_over(database: Database) -> list[Delegation]:
    return await database.read(lambda tx: tx.find(Delegation, delegations, {}, order=("created_at",)))


async def outcomes(database: Database) -> list[tuple[str, str | None, str | None]]:
    rows = await database.read(lambda tx: tx.all(select(events.c.id, events.c.run_id, events.c.outcome)))
    return [(row.id, row.run_id, row.outcome) for row in rows]
