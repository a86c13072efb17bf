"""Real servers for the tests, and a look at the processes they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from colleague.config import Settings
from colleague.mcp.answer import ToolAnswer
from colleague.mcp.backoff import BackoffWaits
from colleague.mcp.servers import Servers
from tests.forked import forked_command

HERE = Path(__file__).parent
BARE = [str(HERE / "bare.py")]
DESK = [str(HERE / "desk.py")]
T = TypeVar("T")


@dataclass
class Bench:
    """A folder for one test, with the servers it configures."""

    root: Path
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    late: list[tuple[str, ToolAnswer]] = field(default_factory=list)
    fail_late: bool = False

    @property
    def ledger(self) -> Path:
        return self.root / "ledger"

    @property
    def mark(self) -> str:
        return f"BENCH={self.root}"

    def stdio(self, name: str, script: list[str], **more: Any) -> None:
        env = {"BENCH": str(self.root), "LEDGER": str(self.ledger), **more.pop("env", {})}
        self.servers[name] = {"command": sys.executable, "args": ["-E", *script], "env": env, **more}

    def http(self, name: str, url: str, **more: Any) -> None:
        self.servers[name] = {"url": url, **more}

    def make(self, pace: BackoffWaits = BackoffWaits()) -> Servers:  # noqa: B008 - frozen
        settings = Settings.model_validate({"mcp": {"servers": self.servers}})
        folder, logs = self.root / "state", self.root / "logs"
        return Servers(settings, self.environ, folder, logs=logs, on_late=self._on_late, pace=pace)

    async def _on_late(self, key: str, answer: ToolAnswer) -> None:
        if self.fail_late:
            raise RuntimeError("the store is closed")
        self.late.append((key, answer))

    def run(self, work: Callable[[Servers], Awaitable[T]]) -> T:
        """Runs a test with the servers, and stops them."""

        async def main() -> T:
            async with self.make() as servers:
                return await work(servers)

        return asyncio.run(main())

    def log(self, name: str) -> str:
        return (self.root / "logs" / f"mcp-{name}.log").read_text()


def marked(mark: str) -> list[int]:
    """Every process with this in its environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def zombies() -> list[int]:
    """Children of ours that ended and were not waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def free_port() -> int:
    """None of those that the system gives to whoever asks for any: it would be somebody else's soon."""
    while True:
        port = 15_000 + secrets.randbelow(17_000)
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def listening(port: int, script: list[str], *arguments: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server of its own on a port, as whoever runs it would start it."""
    command = forked_command(*script, *arguments)
    with subprocess.Popen(command, env={"PATH": os.environ["PATH"], **env}) as process:
        try:
            wait_for_port(port)
            yield process
        finally:
            process.send_signal(signal.SIGHUP)  # ends it at once, and is waited for


def wait_for_port(port: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on {port}")


async def until(condition: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.02)


async def until_status(servers: Servers, **wanted: object) -> None:
    """Waits until the first server's status has these values."""
    for _ in range(6000):
        status = (await servers.status())[0]
        if all(getattr(status, key) == value for key, value in wanted.items()):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{status} does not come to have {wanted}")


def as_json(answer: ToolAnswer) -> Any:
    return json.loads(answer.text)
