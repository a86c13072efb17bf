"""A gateway with few descriptors, and callers who take them all: what was accepted is done all the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.home import Home
from tests.chaos.flood import Books, Line, Senders, furnish, posts
from tests.integration.mcp.support import free_port

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
DESCRIPTORS = 160
SOCKETS = 1100
EVENTS = 400 if LONG else 40
SECONDS = 600 if LONG else 180
MOST_LOG_BYTES = 200_000


@dataclass
class Gateway:
    """A real `colleague serve` with a limit on its descriptors; its stderr goes to a file."""

    home: Home
    port: int
    process: subprocess.Popen[bytes]

    async def get(self, path: str) -> tuple[int, bytes]:
        async with Line(self.port) as line:
            return await line.ask("GET", path)

    async def until_ready(self, *, ready: bool = True) -> None:
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    if ((await self.get("/readyz"))[0] == 200) is ready:
                        return
                assert self.process.poll() is None, "the gateway ended"
                await asyncio.sleep(0.1)

    @contextlib.contextmanager
    def without_descriptors(self) -> Iterator[None]:
        """While the block lasts it can open nothing more; what is open stays so."""
        before = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            yield
        finally:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, before)

    def kill_servers(self) -> int:
        """Kills the MCP servers that it started; how many."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        return len(children)

    def log_bytes(self) -> int:
        files = [*self.home.logs.glob("*"), self.home.root / "stderr.txt"]
        return sum(file.stat().st_size for file in files)


@contextlib.asynccontextmanager
async def serving(root: Path, descriptors: int, **environ: str) -> AsyncIterator[Gateway]:
    home, port = furnish(root), free_port()

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    with (root / "stderr.txt").open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "colleague", "serve", "--port", str(port), "--home", str(root)],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=root,
            env=dict(os.environ) | environ,
            preexec_fn=few,
        )
    gateway = Gateway(home, port, process)
    try:
        await gateway.until_ready()
        yield gateway
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()


def open_sockets(port: int, count: int) -> list[socket.socket]:
    """Connections that say nothing. The kernel takes them even when the gateway cannot."""
    found = []
    for _ in range(count):
        line = socket.socket()
        line.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            line.connect(("127.0.0.1", port))
        found.append(line)
    return found


def told(line: socket.socket) -> bytes:
    try:
        return line.recv(4096)
    except OSError:
        return b""


async def holding(port: int, until: asyncio.Event) -> int:
    """Takes every place, and again whenever one is closed; how often 503 was said."""
    said = 0
    lines = open_sockets(port, SOCKETS)
    while not until.is_set():
        await asyncio.sleep(0.2)
        said += sum(b" 503 " in told(line) for line in lines)
        for line in lines:
            line.close()
        lines = open_sockets(port, SOCKETS)
    for line in lines:
        line.close()
    return said


async def drained(books: Books) -> None:
    async with asyncio.timeout(SECONDS):
        while await books.unfinished():
            await asyncio.sleep(0.2)


def test_taken_descriptors_stop_no_work(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The server of the expert's tool is started for the first time while callers take what they can get."""

    async def acts() -> None:
        async with serving(tmp_path / "home", DESCRIPTORS) as gateway:
            books = Books.open(gateway.home)
            senders, over = Senders(gateway.port, connections=4), asyncio.Event()
            attack = asyncio.create_task(holding(gateway.port, over))
            sending = asyncio.create_task(senders.send(posts(EVENTS, EVENTS)))
            await asyncio.sleep(5)
            over.set()
            refused = await attack
            async with asyncio.timeout(SECONDS):
                await sending
            await drained(books)
            assert await books.ends() == {("completed", None): EVENTS}
            assert refused
            await gateway.until_ready()
            size = gateway.log_bytes()
            record_property("told", f"{refused} refused, {size:,} bytes of logs")
            assert size < MOST_LOG_BYTES
            await books.database.close()

    asyncio.run(acts())


@contextlib.asynccontextmanager
async def watching(port: int) -> AsyncIterator[list[int]]:
    """What /readyz says on one connection that is kept, the latest last."""
    found: list[int] = []

    async def look(line: Line) -> None:
        while True:
            found.append(await line.get("/readyz"))
            await asyncio.sleep(0.2)

    async with Line(port) as line:
        looking = asyncio.create_task(look(line))
        try:
            yield found
            assert not looking.done(), looking
        finally:
            looking.cancel()


def test_without_any_descriptor_it_says_so_and_goes_on_afterwards(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Nothing can be opened for a while: not the files of a package, not a pipe for the server that died."""

    async def acts() -> None:
        async with serving(tmp_path / "home", 1024) as gateway, watching(gateway.port) as readiness:
            books, senders = Books.open(gateway.home), Senders(gateway.port, connections=4)
            await senders.send(posts(1, 1, prefix="warm"))
            await drained(books)
            sending = asyncio.create_task(senders.send(posts(EVENTS, EVENTS)))
            while len(senders.answered) < EVENTS // 4:
                await asyncio.sleep(0.01)
            assert gateway.kill_servers()
            with gateway.without_descriptors():
                callers = open_sockets(gateway.port, 100)  # nobody can accept them
                async with asyncio.timeout(SECONDS):
                    while readiness[-1] != 503:
                        await asyncio.sleep(0.1)
                await asyncio.sleep(10 if LONG else 3)
            for each in callers:
                each.close()
            async with asyncio.timeout(SECONDS):
                await sending
                await gateway.until_ready()
                await books.drain(gateway, SECONDS)
            assert await books.ends() == {("completed", None): EVENTS + 1}
            size = gateway.log_bytes()
            record_property("told", f"{size:,} bytes of logs")
            assert size < MOST_LOG_BYTES
            await books.database.close()

    asyncio.run(acts())


def test_closed_streams_stop_nothing_and_give_their_numbers_to_nobody(tmp_path: Path) -> None:
    """A file or socket with the number of stderr would take in whatever somebody prints."""
    home, port = furnish(tmp_path / "home"), free_port()
    command = f"exec {sys.executable} -m colleague serve --port {port} --home {home.root} <&- >&- 2>&-"
    process = subprocess.Popen(["/bin/sh", "-c", command], cwd=home.root)
    try:
        asyncio.run(Gateway(home, port, process).until_ready())
        opened = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]  # noqa: PTH115
        assert opened == [os.devnull] * 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
