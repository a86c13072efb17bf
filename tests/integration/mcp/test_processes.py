"""What is left of a server: nothing, whoever dies first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from colleague.mcp.process import MARK, ProcessId, environment_of, identify, machine
from colleague.mcp.servers import Servers
from tests.conftest import ROOT
from tests.integration.mcp.support import BARE, Bench, marked, until, until_status

ROUNDS, AT_ONCE = 10, 5
PREDECESSOR = """
import asyncio, sys
from pathlib import Path
from tests.integration.mcp.support import BARE, Bench

async def main():
    bench = Bench(Path(sys.argv[1]))
    bench.stdio("polite", BARE)
    bench.stdio("stubborn", [*BARE, "--stubborn"])
    servers = bench.make()
    await servers.start()
    for name in bench.servers:
        await servers.call(name, "spawn_child", {}, key=name)
    print("ready", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_fifty_starts_and_stops_leave_nothing(bench: Bench) -> None:
    names = [f"desk-{number}" for number in range(AT_ONCE)]
    for name in names:
        bench.stdio(name, BARE)

    async def work(servers: Servers) -> None:
        tools = await asyncio.gather(*map(servers.tools, names))
        assert all(tools)
        await servers.call(names[0], "spawn_child", {}, key="k")
        await until(lambda: len(marked(bench.mark)) == AT_ONCE + 1)

    for _ in range(ROUNDS):
        bench.run(work)
        assert marked(bench.mark) == []


def test_a_child_in_a_session_of_its_own_ends_with_its_server(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> int:
        return int((await servers.call("desk", "spawn_child", {}, key="k")).text)

    child = bench.run(work)
    assert identify(child) is None


def test_children_of_a_killed_server_end_before_the_next_one_is_used(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def work(servers: Servers) -> None:
        child = int((await servers.call("desk", "spawn_child", {}, key="k1")).text)
        pid = (await servers.status())[0].pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        await until_status(servers, pid=None)
        await servers.call("desk", "echo", {}, key="k2")
        assert identify(child) is None

    bench.run(work)


def test_a_stubborn_server_is_killed(bench: Bench) -> None:
    bench.stdio("desk", [*BARE, "--stubborn"])

    async def work(servers: Servers) -> None:
        await servers.tools("desk")

    began = time.monotonic()
    bench.run(work)
    assert time.monotonic() - began < 100


def test_a_loop_that_ends_without_a_stop_leaves_nothing(bench: Bench) -> None:
    bench.stdio("desk", BARE)

    async def forgetful() -> None:
        await bench.make().call("desk", "spawn_child", {}, key="k")

    asyncio.run(forgetful())
    assert marked(bench.mark) == []


def test_a_stop_during_the_start_leaves_nothing(bench: Bench) -> None:
    bench.stdio("desk", ["-c", "import time; time.sleep(60)"])

    async def work(servers: Servers) -> None:
        starting = asyncio.create_task(servers.tools("desk"))
        while not marked(bench.mark):
            await asyncio.sleep(0.02)
        starting.cancel()

    bench.run(work)


def test_orphans_of_a_killed_predecessor_are_ended(bench: Bench) -> None:
    command = [sys.executable, "-c", PREDECESSOR, str(bench.root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as predecessor:
        assert predecessor.stdout
        assert predecessor.stdout.readline() == "ready\n"
        asyncio.run(until(lambda: len(marked(bench.mark)) == 4))
        before = marked(bench.mark)

        assert asyncio.run(bench.make().start()) == []
        assert sorted(marked(bench.mark)) == sorted(before), "those of a living process are not touched"

        predecessor.kill()
    time.sleep(0.3)
    assert len(marked(bench.mark)) >= 3, "a stubborn server and two children outlive it"
    assert sorted(asyncio.run(bench.make().start())) == ["polite", "stubborn"]
    assert marked(bench.mark) == []


def record(bench: Bench, *, owner: ProcessId, pid: int, started: str, mark: str) -> Path:
    file = bench.root / "state" / "servers-1-test.json"
    file.parent.mkdir(exist_ok=True)
    server = {"server": "desk", "mark": mark, "pid": pid, "started": started}
    document = {
        "machine": machine(),
        "owner": {"pid": owner.pid, "started": owner.started},
        "servers": [server],
    }
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def innocent() -> subprocess.Popen[bytes]:  # type: ignore[misc]
    """A process that has nothing to do with us, in a group of its own."""
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, start_new_session=True) as process:
        yield process  # type: ignore[misc]
        process.kill()


DEAD = ProcessId(2**22 - 1, "1")


def test_an_innocent_process_with_the_pid_of_an_orphan_lives(
    bench: Bench, innocent: subprocess.Popen[bytes]
) -> None:
    file = record(bench, owner=DEAD, pid=innocent.pid, started="1", mark="m" * 32)
    assert asyncio.run(bench.make().start()) == []
    assert innocent.poll() is None
    assert not file.exists()


def test_a_process_is_not_taken_for_dead_when_only_its_pid_is_reused(bench: Bench) -> None:
    """The owner's pid is ours, but it started at another time: the owner is dead."""
    file = record(bench, owner=ProcessId(os.getpid(), "1"), pid=0, started="", mark="m" * 32)
    asyncio.run(bench.make().start())
    assert not file.exists()


def test_the_record_of_a_living_owner_stays(bench: Bench, innocent: subprocess.Popen[bytes]) -> None:
    me = identify(os.getpid())
    assert me
    target = identify(innocent.pid)
    assert target
    file = record(bench, owner=me, pid=target.pid, started=target.started, mark="m" * 32)
    assert asyncio.run(bench.make().start()) == []
    assert innocent.poll() is None
    assert file.exists()
    file.unlink()


def test_a_server_that_was_started_but_not_yet_recorded_is_found_by_its_mark(bench: Bench) -> None:
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    environment = {MARK: "f" * 32, "BENCH": str(bench.root)}
    with subprocess.Popen(command, start_new_session=True, env=environment):
        record(bench, owner=DEAD, pid=0, started="", mark="f" * 32)
        assert asyncio.run(bench.make().start()) == ["desk"]


def test_the_mark_of_a_process_is_read_as_soon_as_it_runs() -> None:
    """About half of them have no variables yet when they are first looked at."""
    for _ in range(50):
        with subprocess.Popen(["/bin/sleep", "60"], env={MARK: "f" * 32}) as process:
            read = environment_of(Path(f"/proc/{process.pid}"))
            process.kill()
        assert read.split(b"\0")[0] == f"{MARK}={'f' * 32}".encode()


def test_a_process_without_variables_is_nobodys() -> None:
    with subprocess.Popen(["/bin/sleep", "60"], env={}) as process:
        read = environment_of(Path(f"/proc/{process.pid}"))
        process.kill()
    assert read == b""


def test_a_record_of_another_machine_is_left_alone_until_it_is_old(bench: Bench) -> None:
    file = record(bench, owner=DEAD, pid=1, started="1", mark="m" * 32)
    document = json.loads(file.read_text()) | {"machine": "another"}
    file.write_text(json.dumps(document))
    asyncio.run(bench.make().start())
    assert file.exists()
    os.utime(file, (1, 1))
    asyncio.run(bench.make().start())
    assert not file.exists()
