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
from colleague.files import holder_of, locked, write_atomic
from colleague.home import Home

LOCK = "gateway.lock"
LOOK_SECONDS = 0.2
"""A command that looks whether the lock is held holds it for a moment itself."""


@dataclass(frozen=True)
class GatewayFile:
    """Who listens where, since when. `own_token`: it asks for the token that the home made for itself."""

    pid: int
    address: str
    port: int
    started_at: str
    own_token: bool = False

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
        where = str(found["address"]), int(found["port"])
        return GatewayFile(int(found["pid"]), *where, str(found["started_at"]), bool(found.get("own_token")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def gateway_runs(home: Home) -> bool:
    """Whether a gateway is at work on this home, or about to be."""
    return holder_of(home.state / LOCK) is not None


def running_gateway(home: Home) -> GatewayFile | None:
    """What the gateway that holds the lock says of itself; None until it has said so.

    A file of another process was left by a gateway that died. Whoever listens on its port now must not be
    sent the token."""
    found = read_gateway_file(home)
    return found if found is not None and found.pid == holder_of(home.state / LOCK) else None


@contextlib.contextmanager
def only_gateway(home: Home) -> Iterator[None]:
    """One gateway for each home; a second one is told where the first is."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(home.state / LOCK, wait_seconds=LOOK_SECONDS))
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
def announced(home: Home, address: str, port: int, *, own_token: bool = False) -> Iterator[None]:
    """The file is there for as long as the block lasts."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    here = GatewayFile(os.getpid(), address, port, now, own_token)
    write_atomic(path_of(home), json.dumps(asdict(here)) + "\n")
    try:
        yield
    finally:
        path_of(home).unlink(missing_ok=True)
