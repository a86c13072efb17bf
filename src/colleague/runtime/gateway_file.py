"""state/gateway.json: where a running gateway can be found. A hint; the lock is the truth."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from colleague.errors import HomeBusy
from colleague.files import locked, write_atomic
from colleague.home import Home


@dataclass(frozen=True)
class GatewayFile:
    """Who listens where, since when."""

    pid: int
    address: str
    port: int
    started_at: str

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}"


def path_of(home: Home) -> Path:
    return home.state / "gateway.json"


def read_gateway_file(home: Home) -> GatewayFile | None:
    """What the file says; None when there is none that makes sense. The process may have died since."""
    try:
        found = json.loads(path_of(home).read_text(encoding="utf-8"))
        return GatewayFile(
            int(found["pid"]), str(found["address"]), int(found["port"]), str(found["started_at"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def gateway_runs(home: Home) -> bool:
    """Whether the gateway that announced itself is still there."""
    found = read_gateway_file(home)
    if found is None:
        return False
    try:
        os.kill(found.pid, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)  # somebody else's, and alive
    return True


@contextlib.contextmanager
def only_gateway(home: Home) -> Iterator[None]:
    """One gateway for each home; a second one is told where the first is."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(home.state / "gateway.lock", wait_seconds=0))
        except HomeBusy as error:
            raise _busy(home, error) from None
        yield


def _busy(home: Home, error: HomeBusy) -> HomeBusy:
    running = read_gateway_file(home)
    if running is None:
        return error
    return HomeBusy(
        f"a gateway works on {home.root} already: pid {running.pid}, {running.url}",
        hint="use that one, or end it first",
    )


@contextlib.contextmanager
def announced(home: Home, address: str, port: int) -> Iterator[None]:
    """The file is there for as long as the block lasts."""
    here = GatewayFile(os.getpid(), address, port, datetime.now(UTC).isoformat(timespec="seconds"))
    write_atomic(path_of(home), json.dumps(asdict(here)) + "\n")
    try:
        yield
    finally:
        path_of(home).unlink(missing_ok=True)
