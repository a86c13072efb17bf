"""Commands as agents run them: what comes back, what is bounded, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.commands import running_commands
from colleague.agent.commands.command_text import MOST_SHOWN
from colleague.agent.commands.running import MARK
from colleague.agent.commands.running_commands import end_left_commands
from colleague.mcp.process import ProcessTree, identify
from colleague.store.commands import StartedCommand
from tests.conftest import ROOT
from tests.integration.commands.room import SESSION, Room, in_room

DEADLINE = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


class TestWhatComesBack:
    def test_output_and_exit_code(self, home: Path) -> None:
        async def work(room: Room) -> None:
            said = await room.run("echo one; echo two >&2; exit 3")
            assert (said.text, said.is_error, said.source) == ("one\ntwo\n[exit code 3]", True, "exec")
            assert (await room.run("printf x")).text == "x\n[exit code 0]"
            assert (await room.run("kill -TERM $$")).text == "[ended by SIGTERM]"
            assert [each.status for each in await room.records()] == ["exited"] * 3
            assert [each.code for each in await room.records()] == [3, 0, -15]

        in_room(home, work)

    def test_a_plain_line_needs_no_shell(self, home: Path) -> None:
        async def work(room: Room) -> None:
            assert (await room.run("echo $0")).text.startswith(("bash", "sh"))
            said = await room.run("cat /proc/self/cmdline")
            assert said.text.startswith("cat\\x00/proc/self/cmdline")

        in_room(home, work)

    def test_the_environment_has_no_keys(self, home: Path) -> None:
        async def work(room: Room) -> None:
            said = await room.run("env", env={"MINE": "1"})
            names = {line.partition("=")[0] for line in said.text.splitlines()}
            assert {"PATH", "MINE", "TERM"} <= names
            assert "sk-secret" not in said.text
            assert not {"ANTHROPIC_API_KEY", "COLLEAGUE_X", "OPENCLAW_STATE_DIR"} & names
            assert (await room.run("printenv PATH")).text.startswith(f"{home}/first:")

        in_room(home, work, path_prepend=(f"{home}/first",))

    def test_folders(self, home: Path) -> None:
        (home / "workspace/sub").mkdir(parents=True)
        (home / "outside").mkdir()
        (home / "workspace/link").symlink_to(home / "outside")

        async def work(room: Room) -> None:
            assert (await room.run("pwd", workdir="sub")).text == f"{home}/workspace/sub\n[exit code 0]"
            assert (await room.run("pwd", workdir=f"{home}/workspace/sub")).text.startswith(str(home))
            for outside in ("..", "/", "link", "sub/../..", "~", "missing", "x\0y", "\n"):
                said = await room.run("pwd", workdir=outside)
                assert said.is_error, outside
                assert "workspace" in said.text or "no folder" in said.text
            assert len(await room.records()) == 2

        in_room(home, work)

    def test_what_cannot_be_run_is_said(self, home: Path) -> None:
        (home / "workspace").mkdir()
        (home / "workspace/broken").write_text("#!/no/such/interpreter\n")
        (home / "workspace/broken").chmod(0o755)

        async def work(room: Room) -> None:
            assert "could not be started: No such file" in (await room.run("./broken")).text
            assert "exit code 127" in (await room.run("no-such-program-at-all")).text
            assert "empty" in (await room.run(" ")).text
            assert "at most" in (await room.run("x" * 200_000)).text
            assert (await room.run("echo x", timeout="soon")).is_error

        in_room(home, work)

    def test_watchers_are_told_meanwhile(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("echo first; sleep 0.7; echo second; sleep 0.7; echo third")
            assert room.told[0] == "first\n"
            assert "second" in room.told[-1] or "third" in room.told[-1]

        in_room(home, work)

    def test_a_terminal_when_asked(self, home: Path) -> None:
        async def work(room: Room) -> None:
            assert "not a tty" in (await room.run("tty")).text
            said = await room.run("tty && printf '\\033[31mred\\033[0m \\033]0;title\\007end'", pty=True)
            assert said.text.startswith("/dev/pts/")
            assert "\nred end\n" in said.text

        in_room(home, work)


class TestBounds:
    def test_a_gigabyte_of_output(self, home: Path) -> None:
        async def work(room: Room) -> None:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            said = await room.run("yes | head -c 1G", yieldMs=120_000)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert len(said.text) < MOST_SHOWN + 200
            assert f"{2**30 - MOST_SHOWN:,} bytes left out" in said.text
            assert grown < 100_000  # kilobytes

        in_room(home, work)
        assert sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) < 5_000_000

    def test_time(self, home: Path) -> None:
        async def work(room: Room) -> None:
            said = await room.run("echo begun; sleep 1000", timeout=1)
            assert said.text.startswith("begun\n[took too long and was ended")
            assert said.is_error
            assert [each.status for each in await room.records()] == ["timeout"]
            assert await room.left() == []

        in_room(home, work)

    def test_processes(self, home: Path) -> None:
        """A small bomb: it would stop by itself at a few hundred."""

        async def work(room: Room) -> None:
            bomb = "f() { [ $1 -gt 7 ] || { f $(($1+1)) & f $(($1+1)) & sleep 300; }; }; f 0"
            said = await room.run(bomb)
            if os.geteuid() != 0:  # the kernel counts: the bomb stays small, and runs on
                assert "Resource temporarily unavailable" in said.text
                return
            assert "too many processes" in said.text
            assert await room.left() == []

        in_room(home, work, max_processes=20)

    def test_at_once(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(running_commands, "MOST_RUNNING", 2)

        async def work(room: Room) -> None:
            for _ in range(2):
                assert "still running" in (await room.run("sleep 300", background=True)).text
            assert "run already" in (await room.run("echo x")).text

        in_room(home, work)


SECONDS = str(10_000_000 + os.getpid())
"""So long sleeps only what a test here has begun."""
ESCAPES = [
    "sleep 300 & echo x",
    "sleep 300 & sleep 300 & (sleep 300 & sleep 300) & echo x",
    "setsid sleep 300 & echo x",
    "(setsid sh -c 'sleep 300 & sleep 300' &) ; sleep 0.2; echo x",
    "nohup sleep 300 >/dev/null 2>&1 & echo x",
    "env -i setsid sleep 300 & sleep 0.2; echo x",
    "sh -c 'trap \"\" TERM HUP INT; sleep 300; sleep 300' & sleep 0.2; echo x",
    "sleep 300 & kill -STOP $!; echo x",
    f"{sys.executable} -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\n"
    'if os.fork(): os._exit(0)\nos.chdir("/"); os.environ.clear(); time.sleep(300)\'; echo x',
]


def children_of(pid: int) -> set[int]:
    """All descendants, by asking the system, not our own records."""
    asked = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in asked.stdout.splitlines()]
    parents = {int(row[0]): int(row[1]) for row in rows if not row[2].startswith("Z")}
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return {each for each in found - {pid} if each in parents}


def sleepers() -> list[str]:
    asked = subprocess.run(["pgrep", "-f", SECONDS], capture_output=True, text=True, check=False)
    return asked.stdout.split()


class TestNothingIsLeft:
    @pytest.mark.parametrize("command", ESCAPES)
    def test_when_a_command_ends(self, home: Path, command: str) -> None:
        async def work(room: Room) -> None:
            said = await room.run(command.replace("300", SECONDS))
            assert said.text.startswith("x\n")
            assert sleepers() == []
            assert await room.left() == []

        in_room(home, work)

    def test_when_it_is_killed(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("setsid sleep 300 & sleep 300", background=True)
            [command] = room.commands.of_session(SESSION)
            assert await room.left()
            assert "Nothing of it is left" in (await room.look("kill", command.name)).text
            assert await room.left() == []

        in_room(home, work)

    def test_when_the_call_is_cancelled(self, home: Path) -> None:
        async def work(room: Room) -> None:
            call = asyncio.create_task(room.run("setsid sleep 300 & echo begun; sleep 300"))
            while not room.told:
                await asyncio.sleep(0.02)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await room.left() == []
            assert [each.status for each in await room.records()] == ["ended"]

        in_room(home, work)

    def test_when_the_runtime_ends(self, home: Path) -> None:
        async def work(room: Room) -> list[StartedCommand]:
            await room.run("setsid sleep 300 & sleep 300", background=True)
            return await room.records()

        [started] = in_room(home, work)
        assert not ProcessTree(None, started.mark, MARK).members()

    def test_when_its_supervisor_is_killed(self, home: Path) -> None:
        """The command got rid of it; what it left is found by its mark."""

        async def work(room: Room) -> None:
            said = await room.run("setsid sleep 300 & kill -9 $PPID; sleep 300")
            assert "how it ended is not known" in said.text
            assert await room.left() == []

        in_room(home, work)

    def test_setuid_programs_gain_nothing(self, home: Path) -> None:
        async def work(room: Room) -> None:
            said = await room.run("grep NoNewPrivs /proc/self/status")
            assert said.text.split()[1] == "1"

        in_room(home, work)


OWNER = """
import asyncio, sys
from pathlib import Path
from tests.integration.commands.room import Room, in_room

async def work(room: Room) -> None:
    await room.run("setsid sleep 300 & sleep 300", background=True)
    print((await room.records())[0].mark, flush=True)
    await room.run("sleep 300 & echo begun; sleep 300")

in_room(Path(sys.argv[1]), work)
"""


class TestAfterACrash:
    def owner(self, home: Path) -> tuple[subprocess.Popen[str], str]:
        started = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert started.stdout is not None
        return started, started.stdout.readline().strip()

    def test_kill_9_leaves_no_orphan(self, home: Path) -> None:
        owner, mark = self.owner(home)
        assert ProcessTree(None, mark, MARK).members()
        owner.kill()
        owner.communicate()
        deadline = time.monotonic() + DEADLINE
        while ProcessTree(None, mark, MARK).members() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not ProcessTree(None, mark, MARK).members()

        async def look(room: Room) -> None:
            assert "running in another" not in (await room.look("list")).text
            assert await end_left_commands(room.database, alone=True)
            [row, *_] = await room.records()
            assert row.status == "uncertain"
            assert "not known" in (await room.look("list")).text
            assert "not known" in (await room.look("poll", row.id)).text

        in_room(home, look)

    def test_what_its_supervisor_did_not_end_is_ended_at_the_next_start(self, home: Path) -> None:
        owner, mark = self.owner(home)
        supervisor = min(each.pid for each in ProcessTree(None, mark, MARK).members())
        os.kill(supervisor, signal.SIGSTOP)
        owner.kill()
        owner.communicate()
        assert ProcessTree(None, mark, MARK).members()

        async def start(room: Room) -> None:
            assert await end_left_commands(room.database, alone=False)

        in_room(home, start)
        assert not ProcessTree(None, mark, MARK).members()

    def test_another_process_with_the_same_pid_is_not_touched(self, home: Path) -> None:
        innocent = subprocess.Popen(["sleep", "300"], start_new_session=True)

        async def work(room: Room) -> None:
            await room.run("true")
            [row] = await room.records()
            forged = StartedCommand(
                **{**vars(row), "id": "forged", "pid": innocent.pid, "started": "1", "mark": "no-such-mark",
                   "owner_pid": 2**22 - 1, "status": "running", "ended_at": None, "code": None}
            )  # fmt: skip
            await room.database.write(lambda tx: running_commands.add_command(tx, forged))
            assert await end_left_commands(room.database, alone=True) == ["true"]

        try:
            in_room(home, work)
            assert identify(innocent.pid) is not None
        finally:
            innocent.kill()
            innocent.wait()

    def test_what_another_living_process_runs_is_left_alone(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("sleep 300", background=True)
            assert await end_left_commands(room.database, alone=False) == []
            assert await room.left()

        in_room(home, work)


class TestProcess:
    def test_a_life_in_the_background(self, home: Path) -> None:
        async def work(room: Room) -> None:
            begun = await room.run("echo ready; read line; echo got $line; sleep 300", background=True)
            assert "still running" in begun.text
            [command] = room.commands.of_session(SESSION)
            assert "running: echo ready" in (await room.look("list")).text
            typed = await room.look("submit", command.name, data="hello")
            assert not typed.is_error
            await self.until(room, command.name, "got hello")
            assert "got hello" in (await room.look("log", command.name)).text
            assert (await room.look("clear", command.name)).is_error
            await room.look("kill", command.name)
            assert not (await room.look("clear", command.name)).is_error
            assert (await room.look("list")).text == "No commands run in the background."
            assert (await room.look("poll", command.name)).is_error

        in_room(home, work)

    async def until(self, room: Room, name: str, wanted: str) -> None:
        said = ""
        deadline = time.monotonic() + DEADLINE
        while wanted not in said and time.monotonic() < deadline:
            said += (await room.look("poll", name, timeout=100)).text
        assert wanted in said

    def test_what_takes_long_goes_on_in_the_background(self, home: Path) -> None:
        async def work(room: Room) -> None:
            said = await room.run("echo begun; sleep 0.5; echo over", yieldMs=100)
            assert "still running" in said.text
            [command] = room.commands.of_session(SESSION)
            await self.until(room, command.name, "exit code 0")
            assert "over" in (await room.look("log", command.name)).text
            assert (await room.look("poll", command.name)).text == "[exit code 0]"

        in_room(home, work)

    def test_the_end_of_the_input(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("cat", background=True)
            [command] = room.commands.of_session(SESSION)
            await room.look("write", command.name, data="text\n", eof=True)
            await self.until(room, command.name, "exit code 0")
            assert "text" in (await room.look("log", command.name)).text
            assert (await room.look("write", command.name, data="more")).is_error

        in_room(home, work)

    def test_keys_in_a_terminal(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("cat", background=True, pty=True)
            [command] = room.commands.of_session(SESSION)
            await room.look("send-keys", command.name, keys=["abc", "Enter"])
            await self.until(room, command.name, "abc")
            await room.look("send-keys", command.name, keys=["C-c"])
            await self.until(room, command.name, "ended by SIGINT")

        in_room(home, work)

    def test_commands_of_others_do_not_exist(self, home: Path) -> None:
        async def work(room: Room) -> None:
            await room.run("sleep 300", background=True)
            [command] = room.commands.of_session(SESSION)
            other = Room(room.commands, room.database, room.place, room.settings, "agent:main:subagent:1")
            assert (await other.look("list")).text == "No commands run in the background."
            for action in ("poll", "log", "kill", "clear", "write"):
                assert (await other.look(action, command.name, data="x")).is_error
            assert command.running.end is None

        in_room(home, work)

    @pytest.mark.parametrize("action", ["write", "submit", "paste", "send-keys"])
    def test_typing_asks_as_a_command_does(self, home: Path, action: str) -> None:
        async def kinds(room: Room) -> list[str]:
            asked: list[dict[str, Any]] = [{"action": action}, {"action": "poll"}, {"action": "kill"}]
            return [room.process.verdict(each).kind for each in asked]

        assert in_room(home, kinds, ask="on-miss") == ["ask", "allow", "allow"]
        assert in_room(home, kinds, ask="off") == ["allow"] * 3
        assert in_room(home, kinds, ask="off", security="allowlist") == ["refuse", "allow", "allow"]
