"""A gateway under a flood of events: a process that is killed with -9 and started again, senders that send
again what was not answered, and an operator who says of an uncertain effect what the ledger says."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from colleague.agent import conversation
from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.experts.registry import Record, write_record
from colleague.gateway.listening import Listening
from colleague.gateway.serve import serve_until_signalled
from colleague.home import Home
from colleague.store import lease, sweep, worker
from colleague.store.approvals import pending_approvals
from colleague.store.open_database import open_database
from colleague.store.sql import select
from colleague.store.tables import calls, events, runs
from colleague.store.tx import Database, Tx
from tests.forked import FORKED
from tests.integration.experts.package import LEDGER_TOOL, Package, process, text

EXPERT, TRIGGER = "flood-clerk", "order"
TOKEN, HOOK_TOKEN = "token-of-the-flood", "hook-token-of-the-flood"
HOOK = f"/hooks/{EXPERT}/{TRIGGER}"
LEASE_MS, GRACE_MS = 3000, 500


@dataclass(frozen=True)
class Post:
    """One event as its sender has it; `id` is in the payload and names it for good."""

    id: str
    key: str

    @property
    def body(self) -> bytes:
        return json.dumps({"id": self.id, "key": self.key}).encode()


def posts(count: int, keys: int, *, repeated: int = 0, prefix: str = "e") -> list[Post]:
    """Events over `keys` keys; every so many-th is sent a second time, a little later."""
    made = [Post(f"{prefix}{number}", f"k{number % keys}") for number in range(count)]
    found: list[Post] = []
    for number, each in enumerate(made):
        found.append(each)
        if repeated and number % repeated == repeated - 1:
            found.append(made[max(0, number - 5)])
    return found


def furnish(root: Path, database: str = "", *, effect: bool = True, ledger: tuple[str, ...] = ()) -> Home:
    """A home with a clerk whose one process makes one effect, and a model that answers at once.

    `ledger` are further arguments of the server where the effect is made."""
    home = Home(root)
    tool = {**LEDGER_TOOL, "operations": LEDGER_TOOL["operations"][:1]}
    trigger = {
        "name": TRIGGER,
        "type": "webhook",
        "process": "work",
        "dedupe_key": "id",
        "concurrency": "serial_per_key",
        "concurrency_key": "key",
    }
    inputs = [text("id"), text("key", required=False)]
    # Killed three times before its first answer, a run is taken for the cause, and its attempt has failed.
    again = {"retry": {"max_attempts": 3, "backoff": "fixed", "delay": "1s"}}
    tools: dict[str, Any] = {"tools": ["ledger"]} if effect else {}
    work = process(steps=(), inputs=inputs, execution=again, **tools)
    files = {"processes/work.md": work} | ({"tools/ledger.yaml": json.dumps(tool)} if effect else {})
    needs = {"requires": {"tools": ["ledger"]}, "policy": {"approval": {"default": "auto"}}} if effect else {}
    given = Package(files=files, manifest={"triggers": [trigger], **needs}, name=EXPERT)
    folder = given.write(home.expert(EXPERT))
    bound = {"tools": {"ledger": "ledger"} if effect else {}, "model": "script/play.yaml"}
    (folder / "bindings.yaml").write_text(json.dumps(bound))
    write_record(home, EXPERT, Record(enabled=True))
    call = {"calls": [{"operation": "ledger.append", "arguments": {"line": "done"}}]}
    # A run that was killed three times after its last answer is asked once more, in its next attempt.
    (root / "play.yaml").write_text(json.dumps({"replies": [call] * effect + [{"text": "Done."}] * 3}))
    server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(root / "ledger.txt"), *ledger]}
    settings: dict[str, Any] = {
        "gateway": {"auth": {"mode": "token", "token": TOKEN}},
        "hooks": {"token": HOOK_TOKEN},
        "mcp": {"servers": {"ledger": server} if effect else {}},
        "experts": {"database": database} if database else {},
    }
    home.settings_file.write_text(json.dumps(settings))
    home.settings_file.chmod(0o600)
    return home


LEDGER = Path(__file__).with_name("keyed_ledger.py")


@dataclass
class Gateway:
    """`colleague serve`, as a copy of a process that has everything imported."""

    home: Home
    port: int
    kills: int = 0
    patience: float | None = None
    """For how long a run keeps an answer that the database does not take; None is as usual."""
    _process: Any = None

    async def start(self) -> None:
        given = (self.home, self.port, self.patience)
        self._process = FORKED.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        async with asyncio.timeout(240):
            while not await self._answers():
                assert self._process.is_alive(), trouble(self.home)
                await asyncio.sleep(0.02)

    async def _answers(self) -> bool:
        try:
            async with Line(self.port) as line:
                return await line.get("/healthz") == 200
        except OSError:
            return False

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def kill(self) -> None:
        self.kills += 1
        self._process.kill()
        self._process.join()

    def stop(self) -> int | None:
        """Gently; its exit code."""
        self._process.terminate()
        self._process.join(60)
        code: int | None = self._process.exitcode
        self._process.close()
        return code


def trouble(home: Home) -> str:
    file = home.root / "trouble.txt"
    return file.read_text() if file.exists() else "it ended without a word"


def _serve(home: Home, port: int, patience: float | None) -> None:
    lease.LEASE_MS, sweep.GRACE_MS, worker.SWEEP_SECONDS = LEASE_MS, GRACE_MS, 0.5
    if patience is not None:
        conversation.KEEP_TRYING_SECONDS = patience
    os.chdir(home.root)
    try:
        settings = load_settings(home)
        listening = Listening.of(settings, port=port)
        asyncio.run(serve_until_signalled(home, settings, listening, lambda _: None))
    except BaseException:
        (home.root / "trouble.txt").write_text(traceback.format_exc())
        raise


class Line:
    """One connection that is kept: HTTP/1.1 with as little work as can be."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Line:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def get(self, path: str) -> int:
        return (await self.ask("GET", path))[0]

    async def ask(self, verb: str, path: str) -> tuple[int, bytes]:
        return await self._ask(verb, path, TOKEN, b"")

    async def hook(self, post: Post) -> tuple[int, dict[str, Any]]:
        """The status, and what was answered."""
        status, body = await self._ask("POST", HOOK, HOOK_TOKEN, post.body)
        assert body.startswith(b"{"), f"{status}: {body!r}"
        return status, json.loads(body)

    async def post(self, path: str, document: Any) -> tuple[int, bytes]:
        return await self._ask("POST", path, TOKEN, json.dumps(document).encode())

    async def _ask(self, verb: str, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        head = (
            f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        return int(answer[9:12]), await self._reader.readexactly(length)


@dataclass
class Senders:
    """Sends everything, from several connections; again, and again, what was not answered 2xx."""

    port: int
    connections: int = 10
    answered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    statuses: Counter[int] = field(default_factory=Counter)
    retries: int = 0

    async def send(self, wanted: Iterable[Post]) -> None:
        queue = asyncio.Queue[Post]()
        for each in wanted:
            queue.put_nowait(each)
        await asyncio.gather(*(self._sender(queue) for _ in range(self.connections)))

    async def _sender(self, queue: asyncio.Queue[Post]) -> None:
        while not queue.empty():
            try:
                async with Line(self.port) as line:
                    while not queue.empty():
                        await self._try(line, queue, queue.get_nowait())
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)

    async def _try(self, line: Line, queue: asyncio.Queue[Post], post: Post) -> None:
        answered = False
        try:
            answered = await self._one(line, post)
        finally:
            if not answered:
                self.retries += 1
                queue.put_nowait(post)
                await asyncio.sleep(0.02)

    async def _one(self, line: Line, post: Post) -> bool:
        status, body = await line.hook(post)
        self.statuses[status] += 1
        if status not in (200, 202):
            return False
        self.answered[post.id].add(body["event_id"])
        return True


@dataclass(frozen=True)
class Verdict:
    """What a flood came to. The last three should be 0."""

    events: int
    kills: int
    lost: int
    doubled: int
    out_of_order: int

    def __str__(self) -> str:
        return (
            f"events: {self.events}, kills: {self.kills}, lost: {self.lost}, doubled: {self.doubled}, "
            f"out of order: {self.out_of_order}"
        )

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.out_of_order)


@dataclass
class Books:
    """The store and the ledger, looked into from outside."""

    home: Home
    database: Database

    @classmethod
    def open(cls, home: Home) -> Books:
        return cls(home, open_database(home, load_settings(home), os.environ, SystemClock()))

    @property
    def effects(self) -> list[str]:
        """The call behind each effect, in the order in which they happened."""
        file = self.home.root / "ledger.txt"
        return file.read_text().splitlines() if file.exists() else []

    async def unfinished(self) -> int:
        query = select(runs.c.id).where(runs.c.status != "done")
        return len(await self.database.read(lambda tx: tx.all(query)))

    async def statuses(self) -> list[str]:
        return [row.status for row in await self.database.read(lambda tx: tx.all(select(runs.c.status)))]

    async def completed(self) -> int:
        query = select(runs.c.id).where(runs.c.outcome == "completed")
        return len(await self.database.read(lambda tx: tx.all(query)))

    async def ends(self) -> dict[tuple[str | None, str | None], int]:
        """How many runs came to which end, with which error."""
        rows = await self.database.read(lambda tx: tx.all(select(runs.c.outcome, runs.c.error)))
        return Counter((row.outcome, row.error) for row in rows)

    async def drain(self, gateway: Gateway, seconds: float = 60) -> None:
        """Until nothing is left to do; what is uncertain is answered from the ledger."""
        async with asyncio.timeout(seconds):
            while await self.unfinished():
                for approval in await self.database.read(pending_approvals):
                    happened = approval.call_id in self.effects
                    answer = {"decision": "happened" if happened else "again", "digest": approval.digest}
                    async with Line(gateway.port) as line:
                        await line.post(f"/api/approvals/{approval.id}", answer)
                await asyncio.sleep(0.1)

    async def judge(self, senders: Senders, kills: int) -> Verdict:
        rows = await self.database.read(_rows)
        by_post = defaultdict(list)
        for row in rows:
            by_post[row["post"].id].append(row)
        answered = senders.answered
        lost = [each for each in answered if not any(row["outcome"] == "completed" for row in by_post[each])]
        lost += [each for each, ids in answered.items() if not ids <= {row["event"] for row in by_post[each]}]
        effects = Counter(self.effects)
        doubled = [each for each, found in by_post.items() if len(found) > 1]
        doubled += [row["event"] for row in rows if sum(effects[call] for call in row["calls"]) > 1]
        lost += [row["event"] for row in rows if not any(effects[call] for call in row["calls"])]
        return Verdict(len(answered), kills, len(lost), len(doubled), self._out_of_order(rows))

    def _out_of_order(self, rows: list[dict[str, Any]]) -> int:
        """Events of one key whose starts or effects are not in the order in which they were accepted."""
        places = {call: place for place, call in enumerate(self.effects)}
        by_key = defaultdict(list)
        for row in rows:
            by_key[row["post"].key].append((row["started"], _first(places, row)))
        return sum(
            (one[0] > other[0]) + (one[1] > other[1])
            for found in by_key.values()
            for one, other in itertools.pairwise(found)
        )


def _first(places: dict[str, int], row: dict[str, Any]) -> int:
    return min((places[call] for call in row["calls"] if call in places), default=-1)


def _rows(tx: Tx) -> list[dict[str, Any]]:
    """Every event with its run, in the order in which they were accepted."""
    made = defaultdict(list)
    for row in tx.all(select(calls.c.id, calls.c.run_id)):
        made[row.run_id].append(row.id)
    query = select(events.c.id, events.c.payload, runs.c.id.label("run"), runs.c.outcome, runs.c.started_at)
    query = query.select_from(events.outerjoin(runs, runs.c.event_id == events.c.id)).order_by(events.c.id)
    return [
        {
            "event": row.id,
            "post": Post(**json.loads(row.payload)),
            "outcome": row.outcome,
            "started": row.started_at or 0,
            "calls": made[row.run],
        }
        for row in tx.all(query)
    ]
