"""What an event costs: accepted over HTTP, run, stored, recovered; beside bare commits and a bare job queue.

Usage: events.py [accept] [idle] [run] [recover] [postgresql] [--events N] [--long]"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.chaos.flood import Books, Line, Post, furnish
from tests.integration.mcp.support import free_port

from colleague.home import Home

GOALS = {"accepted": 400, "start": 2.0, "idle MB": 95, "idle CPU %": 1.0}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Served:
    """The real command on a home of its own."""

    root: Path
    port: int
    process: subprocess.Popen[bytes]
    started_in: float

    @property
    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.asynccontextmanager
async def serving(root: Path, **environment: str) -> AsyncIterator[Served]:
    port, began = free_port(), time.perf_counter()
    command = [sys.executable, "-m", "colleague", "serve", "--port", str(port), "--home", str(root)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | environment)
    try:
        while not await _answers(port):
            if process.poll() is not None:
                raise SystemExit(f"the gateway ended with {process.returncode}")
            await asyncio.sleep(0.01)
        yield Served(root, port, process, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


async def _answers(port: int) -> bool:
    try:
        async with Line(port) as line:
            return await line.get("/healthz") == 200
    except OSError:
        return False


def blocked(root: Path, database: str = "") -> Path:
    """A home whose one worker slot is taken by the first event, so that accepting is all that happens."""
    furnish(root, database, effect=False)
    (root / "play.yaml").write_text(json.dumps({"replies": [{"text": "Done.", "delay": 3600}]}))
    settings = json.loads((root / "colleague.json").read_text())
    settings["experts"] |= {"maxConcurrentRuns": 1}
    (root / "colleague.json").write_text(json.dumps(settings))
    return root


@dataclass(frozen=True)
class Pace:
    """How fast events were answered."""

    per_second: float
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return f"{self.per_second:7.0f} /s   p50 {self.p50_ms:6.1f} ms   p99 {self.p99_ms:6.1f} ms"


async def send(port: int, count: int, senders: int, prefix: str) -> Pace:
    """`count` events with a key each, over `senders` kept connections at once."""
    taken: list[float] = []
    numbers = iter(range(count))

    async def sender() -> None:
        async with Line(port) as line:
            for number in numbers:
                began = time.perf_counter()
                status, body = await line.hook(Post(f"{prefix}{number}", f"{prefix}{number}"))
                if status != 202:
                    raise SystemExit(f"answered {status}: {body}")
                taken.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(sender() for _ in range(senders)))
    seconds = time.perf_counter() - began
    taken.sort()
    if not taken:
        return Pace(0, 0, 0)
    return Pace(count / seconds, taken[len(taken) // 2] * 1000, taken[int(len(taken) * 0.99)] * 1000)


def raw_commits(folder: Path, count: int = 500) -> float:
    """Commits a second of one row each, as safe as ours: WAL and FULL."""
    with contextlib.closing(sqlite3.connect(folder / "raw.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE events (id TEXT PRIMARY KEY, payload TEXT)")
        began = time.perf_counter()
        for number in range(count):
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO events VALUES (?, ?)", (str(number), "{}" * 50))
            db.execute("COMMIT")
        return count / (time.perf_counter() - began)


async def accepting(folder: Path, raw: float) -> None:
    async with serving(blocked(folder / "accept")) as served:
        for senders, count in ((1, 200), (10, 600), (100, 1500)):
            pace = await send(served.port, count, senders, f"s{senders}-")
            told = f"accepted, {senders:3} senders"
            print(f"{told:28} {pace}   {pace.per_second / raw:5.2f}x raw commits")
    print(f"{'':28} goal {GOALS['accepted']} /s")


async def idling(folder: Path, count: int) -> None:
    async with serving(blocked(folder / "idle")) as served:
        print(f"{'start to first answer':28} {served.started_in:7.2f} s      goal {GOALS['start']:g} s")
        await asyncio.sleep(2)
        before, began = served.cpu_seconds, time.perf_counter()
        await asyncio.sleep(15)
        share = 100 * (served.cpu_seconds - before) / (time.perf_counter() - began)
        print(f"{'idle':28} {served.resident_mb:7.0f} MB     goal {GOALS['idle MB']} MB")
        print(f"{'idle':28} {share:7.2f} % of a core, goal {GOALS['idle CPU %']:g} %")
        await growing(served, count)


async def growing(served: Served, count: int) -> None:
    """The cost of an event when few are stored and when many are, in time of the gateway's own."""
    costs, stored = [], 0
    for wanted in (1000, count):
        await send(served.port, max(0, wanted - 300 - stored), 20, f"to{wanted}-")
        before = served.cpu_seconds
        pace = await send(served.port, 300, 10, f"at{wanted}-")
        costs.append((served.cpu_seconds - before) / 300 * 1000)
        stored = wanted
        print(f"{f'10 senders, {wanted} stored':28} {pace}   {costs[-1]:.2f} ms of CPU an event")
    print(f"{f'cost at {count} to 1000':28} {costs[1] / costs[0]:7.2f}x")
    print(f"{f'after {count} events':28} {served.resident_mb:7.0f} MB")


async def running(folder: Path, name: str, database: str = "", count: int = 300) -> float:
    """Runs a second from the first event to the last end, with a model that answers at once."""
    home = furnish(folder / f"run-{name}", database, effect=False)
    async with serving(home.root) as served:
        await send(served.port, 1, 1, "warm-")
        books = Books.open(home)
        while await books.unfinished():
            await asyncio.sleep(0.05)
        began = time.perf_counter()
        await send(served.port, count, 20, "run-")
        while await books.completed() <= count:
            await asyncio.sleep(0.05)
        seconds = time.perf_counter() - began
        await books.database.close()
    print(f"{f'runs, {name}':28} {count / seconds:7.1f} /s")
    return count / seconds


async def recovering(folder: Path, count: int = 1000) -> None:
    root = blocked(folder / "recover")
    async with serving(root) as served:
        await send(served.port, count, 20, "r-")
        served.kill()
    (root / "play.yaml").write_text(json.dumps({"replies": [{"text": "Done."}]}))
    settings = json.loads((root / "colleague.json").read_text())
    settings["experts"].pop("maxConcurrentRuns")
    (root / "colleague.json").write_text(json.dumps(settings))
    began = time.perf_counter()
    async with serving(root) as served:
        books = Books.open(Home(root))
        while not await books.completed():
            await asyncio.sleep(0.01)
        first = time.perf_counter() - began
        while await books.unfinished():
            await asyncio.sleep(0.1)
        seconds = time.perf_counter() - began
        await books.database.close()
    told = f"recover {count} runs"
    print(f"{told:28} {served.started_in:7.2f} s to answer, {first:.2f} s to one end, {seconds:.1f} s to all")


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    import pgserver

    with tempfile.TemporaryDirectory(prefix="colleague-pg-") as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


async def bare_jobs(url: str, count: int = 300) -> float | None:
    """Jobs a second of the queue that does nothing else."""
    try:
        import procrastinate
    except ImportError:
        print(f"{'bare procrastinate':28} not installed")
        return None
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="nothing")
    async def nothing() -> None:
        """A job with no work in it."""

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        began = time.perf_counter()
        for _ in range(count):
            await nothing.defer_async()
        await app.run_worker_async(wait=False, concurrency=32, install_signal_handlers=False)
        pace = count / (time.perf_counter() - began)
    print(f"{'bare procrastinate jobs':28} {pace:7.1f} /s")
    return pace


async def on_postgresql(folder: Path) -> None:
    with postgresql() as url:
        jobs = await bare_jobs(url)
        pace = await running(folder, "PostgreSQL", url)
        if jobs:
            print(f"{'':28} {pace / jobs:7.2f}x bare procrastinate")


async def measure(parts: list[str], count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="colleague-bench-") as name:
        folder = Path(name)
        raw = raw_commits(folder)
        print(f"{'raw SQLite commits (FULL)':28} {raw:7.0f} /s")
        for part in parts:
            if part == "accept":
                await accepting(folder, raw)
            elif part == "idle":
                await idling(folder, count)
            elif part == "run":
                pace = await running(folder, "SQLite")
                print(f"{'':28} {pace / raw:7.3f}x raw commits")
            elif part == "recover":
                await recovering(folder)
            else:
                await on_postgresql(folder)


def main() -> None:
    every = ("accept", "idle", "run", "recover", "postgresql")
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "parts", nargs="*", choices=[*every, []], help="what to measure; all of it unless said"
    )
    parser.add_argument("--events", type=int, default=2000, help="how many are stored in the end")
    parser.add_argument("--long", action="store_true", help="100,000 of them")
    given = parser.parse_args()
    asyncio.run(measure(given.parts or list(every), 100_000 if given.long else given.events))


if __name__ == "__main__":
    main()
