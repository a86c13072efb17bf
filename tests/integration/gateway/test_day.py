"""A day of events, schedules, dying servers and callers who go away leaves nothing behind in the process."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from dataclasses import astuple, dataclass
from pathlib import Path

import psutil

from colleague.clock import MovableClock
from tests.integration.experts.package import CLERK, LEDGER_TOOL, Package, process, text
from tests.integration.gateway.harness import BEARER, House, Running

LEDGER = Path(__file__).parents[2] / "chaos" / "keyed_ledger.py"
KEEPER = "keeper"
HOURS = 24
LOOKS = 40
STRAYS = 4
"""What may differ by chance: a connection that is just being closed, a thread of a pool."""


@dataclass(frozen=True)
class Belongings:
    """What a process holds that nobody gives back for it."""

    files: int
    children: int
    tasks: int
    threads: int

    @classmethod
    def of(cls, gateway: Running) -> Belongings:
        return cls(
            len(list(Path("/proc/self/fd").iterdir())),
            len(psutil.Process().children()),
            len(asyncio.all_tasks(gateway.loop)),
            threading.active_count(),
        )


def keeper(house: House) -> None:
    """An expert with a server of its own, woken by a hook and every ten minutes."""
    tool = {**LEDGER_TOOL, "operations": LEDGER_TOOL["operations"][:1]}  # type: ignore[index]
    triggers = [
        {
            "name": "order",
            "type": "webhook",
            "process": "work",
            "dedupe_key": "id",
            "concurrency": "parallel",
        },
        {"name": "often", "type": "cron", "expr": "*/10 * * * *", "process": "work"},
    ]
    manifest = {
        "triggers": triggers,
        "requires": {"tools": ["ledger"]},
        "policy": {"approval": {"default": "auto"}},
    }
    work = process(steps=(), inputs=[text("id", required=False)], tools=["ledger"])
    files = {"processes/work.md": work, "tools/ledger.yaml": json.dumps(tool)}
    server = {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(house.root / "ledger.txt")]}
    house.configure(mcp={"servers": {"ledger": server}})
    call = {"calls": [{"operation": "ledger.append", "arguments": {"line": "done"}}]}
    house.play(call, {"text": "Done."})
    given = Package(files=files, manifest=manifest, name=KEEPER)
    # A call that meets the dying server is sent again, where else a person would be asked.
    ledger = {"type": "mcp", "server": "ledger", "repeatable": ["append"]}
    house.install(given, {"tools": {"ledger": ledger}, "model": "script/play.yaml"})


def hour(gateway: Running, clock: MovableClock, number: int) -> None:
    for half in range(2):
        clock.move(seconds=1800)
        ids = [f"{number}-{half}-{each}" for each in range(3)]
        taken = [gateway.hook(f"{KEEPER}/order", {"id": each}) for each in [*ids, ids[0]]]
        assert [each.status_code for each in taken] == [202, 202, 202, 200]
        assert gateway.hook(f"{CLERK}/signed", {"id": "x"}).status_code in (401, 429)
        run_id = taken[0].json()["run_id"]
        with gateway.client.stream("GET", f"/api/runs/{run_id}/events", headers=BEARER):
            pass  # looked at, and left before its end
        with socket.create_connection(("127.0.0.1", gateway.port)) as line:
            line.sendall(b"POST /hooks/keeper/order HTTP/1.1\r\nContent-Length: 50\r\n\r\n{")
        assert gateway.ended(run_id)["outcome"] == "completed"
    if number % 6 == 5:
        _kill_the_server()


def _kill_the_server() -> None:
    [server] = [each for each in psutil.Process().children() if str(LEDGER) in each.cmdline()]
    server.kill()


def at_rest(gateway: Running) -> Belongings:
    """The least of each within a while: what passes is not counted, what stays is."""
    gateway.until(lambda: all(run["status"] == "done" for run in gateway.get("/api/runs").json()))
    gateway.until(lambda: len(asyncio.all_tasks(gateway.loop)) < 25)
    seen = []
    for _ in range(LOOKS):
        time.sleep(0.1)
        seen.append(astuple(Belongings.of(gateway)))
    return Belongings(*map(min, zip(*seen, strict=True)))


def test_a_day_leaves_nothing_behind(house: House) -> None:
    keeper(house)
    clock = MovableClock(time.time_ns() // 1_000_000)
    with house.open(clock=clock) as gateway:
        for number in range(2):
            hour(gateway, clock, number)
        before = at_rest(gateway)
        for number in range(2, 2 + HOURS):
            hour(gateway, clock, number)
        after = at_rest(gateway)
        listed = gateway.get("/api/triggers").json()
    assert after.files <= before.files + STRAYS
    assert after.children <= before.children
    assert after.tasks <= before.tasks + STRAYS
    assert after.threads <= before.threads + STRAYS
    often = next(each for each in listed if each["trigger"] == "often")
    assert often["last_at"], "the schedule was at work"
